"""The compiled loop against the reference interpreter, bit for bit."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from kernbench.engine import Session, memory
from kernbench.engine import session as session_module
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.program import Program
from kernels_jit.layout.records import BLOCK
from tests.engine.strategies import pipelines, programs
from tests.naive.engine import NaiveEngine


def assert_same_times(session: Session, naive: NaiveEngine) -> None:
    assert session.op_issue_fs.tolist() == naive.issue
    assert session.op_start_fs.tolist() == naive.start
    assert session.op_end_fs.tolist() == naive.end
    assert session.counter_value.tolist() == naive.counter
    assert session.station_busy_fs.tolist() == naive.station_busy
    assert session.station_flits.tolist() == naive.station_flits
    assert session.server_busy_fs.tolist() == naive.server_busy
    assert session.flit_hops == naive.flit_hops


EXAMPLES = settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.mark.slow
@EXAMPLES
@given(programs())
def test_flit_mode_equals_the_interpreter(program):
    session = Session(program, "flit")
    session.run()
    naive = NaiveEngine(program).run()
    assert_same_times(session, naive)
    assert session.events == naive.events


@pytest.mark.slow
@EXAMPLES
@given(programs())
def test_hybrid_mode_equals_the_interpreter(program):
    session = Session(program, "hybrid")
    session.run()
    assert_same_times(session, NaiveEngine(program).run())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["flit", "hybrid"])
@EXAMPLES
@given(program=pipelines())
def test_lines_and_coupled_reads_equal_the_interpreter(mode, program):
    session = Session(program, mode)
    session.run()
    naive = NaiveEngine(program).run()
    assert_same_times(session, naive)
    if mode == "flit":
        assert session.events == naive.events


@pytest.mark.slow
@EXAMPLES
@given(programs())
def test_short_sweeps_and_no_slack_change_nothing(program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_SWEEP_FLITS", 1)
        patch.setattr(memory, "_SLACK_FLITS", 0)
        session = Session(program, "flit")
    session.run()
    assert_same_times(session, NaiveEngine(program).run())


@pytest.mark.slow
@EXAMPLES
@given(programs())
def test_a_pool_that_fills_up_changes_nothing(program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session_module, "empty_pool", lambda _machine: np.empty((BLOCK, 2), np.int64))
        session = Session(program, "flit")
    session.run()
    assert_same_times(session, NaiveEngine(program).run())


def test_a_pool_is_enlarged_in_the_middle_of_a_sweep(monkeypatch):
    monkeypatch.setattr(session_module, "empty_pool", lambda _machine: np.empty((BLOCK, 2), np.int64))
    machine = load_machine("mesh_8x8", {"k": 3})
    program, again = Program(machine), Program(machine)
    for made in (program, again):
        places = made.machine.places
        for row in range(3):
            for col in range(2):
                made.thread(f"{row} {col}").move(
                    machine.routing.route(
                        places.endpoint(row, col), places.endpoint(2, 2), Intent.ALL, RouteKind.MESSAGE
                    ),
                    100_000,
                )
    small = Session(program, "flit")
    small.run()
    assert len(small._pool) > BLOCK
    monkeypatch.undo()
    large = Session(again, "flit")
    large.run()
    assert small.op_end_fs.tolist() == large.op_end_fs.tolist()
    assert small.station_busy_fs.tolist() == large.station_busy_fs.tolist()
