"""The least time between rows with the queues on the way, against the loop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

from kernbench.analytic.critical_path import find_after
from kernbench.analytic.model import build_model
from kernbench.analytic.node_times import list_node_times
from kernbench.analytic.queueing_bounds import QueueingBounds
from kernbench.analytic.stage_times import list_stage_times
from kernbench.analytic.start_to_end_paths import StartToEndPaths
from kernbench.engine import Session
from kernbench.errors import DeadlockError
from kernbench.machine.sheets.field_provenance import no_origins
from kernbench.program.program import Program
from tests.engine.bare import BareMachine
from tests.engine.strategies import programs

pytestmark = pytest.mark.slow


def times(model, starts, gates, atoms_fs):
    """int64[point, gate], and which gates are reached."""
    node_times = list_node_times(model)
    legs, paths = list_stage_times(model, node_times), StartToEndPaths(model, node_times, starts, gates)
    return QueueingBounds(model, legs, paths).times(*legs.times(atoms_fs)), paths.reached


@settings(max_examples=75, suppress_health_check=list(HealthCheck), deadline=None)
@given(program=programs(), data=st.data())
def test_no_row_is_sooner_than_its_bound(program, data):
    session = Session(program, "flit")
    session.run()
    try:
        session.check_finished()
    except DeadlockError:
        assume(False)
    model = build_model(program, no_origins(len(program.machine.stations.fs_per_flit)))
    rows = sorted(set(model.rows.row.tolist()) | set(model.rows.stage.tolist()))
    assume(rows)
    some = st.lists(st.sampled_from(rows), unique=True, min_size=1, max_size=4)
    starts, single, several = data.draw(some), data.draw(some), data.draw(some)
    gates = [*([row] for row in single), several]
    (found,), reached = times(model, starts, gates, np.ones((1, 1)))
    began_fs = session.op_issue_fs[starts].min()
    _, path_fs = find_after(model, np.array(starts), np.ones(1))
    least = iter(found.tolist())
    for gate, there in zip(gates, reached, strict=True):
        if there:
            bound = next(least)
            path = max(path_fs[gate])
            event("a queue binds" if bound > path else "a path binds")
            assert path <= bound <= session.op_end_fs[gate].max() - began_fs


@pytest.fixture
def crowd():
    """Four senders to one memory channel of 100 fs a flit, each over a link of its own of 10 fs and a wire of 2."""
    bare = BareMachine([(10, 64, 0, 2)] * 4 + [(100, 64, 0, 0)], 4, [1, 2], flit_bytes=64)
    for link in range(4):
        bare.route("write", [link, (4, 1, 0, 0)], tail_fs=7)
    return bare


def test_a_queue_at_a_memory(crowd):
    """Nobody comes before 12 fs; 4 times 2 flits of 100 fs are served; then there is the way back, and 5 fs to do."""
    program = Program(crowd)
    done = program.counter("done")
    for route in range(4):
        program.thread(f"t{route}").move(route, 128, done=done)
    waiting = program.thread("waiting")
    waiting.wait(done, 4)
    waiting.delay(program.duration(("fs", 5)))
    model = build_model(program, no_origins(len(crowd.stations.fs_per_flit)))
    session = Session(program, "flit")
    session.run()
    (found,), _ = times(model, list(range(4)), [[4], [5]], np.ones((1, 1)))
    assert found.tolist() == session.op_end_fs[4:].tolist() == [12 + 800 + 7, 12 + 800 + 7 + 5]


def test_a_queue_at_a_server_with_two_slots(crowd):
    program = Program(crowd)
    done = program.counter("done")
    for name in "abcd":
        program.thread(name).exec(1, program.duration(("fs", 50)), done)
    waiting = program.thread("waiting")
    waiting.wait(done, 4)
    model = build_model(program, no_origins(len(crowd.stations.fs_per_flit)))
    (found,), _ = times(model, list(range(4)), [[4]], np.ones((1, 1)))
    assert found.tolist() == [100]


def test_the_queue_before_a_gate_is_not_that_after_it(crowd):
    """Two crowds, the second after the first: what a path through one of each would not add up."""
    program = Program(crowd)
    counters = [program.counter(f"{i}") for i in range(2)]
    for route in range(4):
        thread = program.thread(f"t{route}")
        for counter in counters:
            thread.move(route, 64, done=counter)
            thread.wait(counter, 4)
    model = build_model(program, no_origins(len(crowd.stations.fs_per_flit)))
    met = [[len(program.op) + counter] for counter in counters]
    (found,), _ = times(model, [0, 4, 8, 12], met, np.ones((1, 1)))
    assert found.tolist() == [12 + 400 + 7, 2 * (12 + 400 + 7)]
