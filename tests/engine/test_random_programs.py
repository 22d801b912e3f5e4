"""The compiled loop against the reference interpreter, bit for bit, on new random programs in every run."""

import numpy as np
import pytest

from kernbench.engine import Session, memory
from kernbench.engine import session as session_module
from kernbench.machine import load_machine
from kernbench.machine.intents import Intent, RouteKind
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from kernels_jit.layout.records import BLOCK
from tests.engine import soak
from tests.engine.bare import BareMachine
from tests.engine.difference import compare, describe_difference, find_difference
from tests.engine.fresh import check_fresh
from tests.engine.random_programs import KINDS, SLOW, draw_program
from tests.engine.shrink import Recipe, describe, shrink
from tests.naive.engine import NaiveEngine

SHARES = {
    "crowded": 0.04,
    "pipelines": 0.02,
    "weaves": 0.02,
    "medleys": 0.04,
    "streams": 0.04,
    "partial": 0.04,
    "wide": 0.02,
    "meetings": 0.04,
    "lanes": 0.04,
    "overtaking": 0.048,
    "mesh": 0.032,
    "packet_mesh": 0.02,
    "packets": 0.02,
    "multicasts": 0.032,
    "tiny": 0.06,
    "sip": 0.048,
    "trays": 0.02,
    "mesh_8x8": 0.02,
    "multicast_tiny": 0.016,
    "multicast_trays": 0.012,
    "multicast_mesh": 0.016,
    "credit": 0.036,
    "credit_sip": 0.012,
    "credit_multicasts": 0.016,
    "credit_sip_multicasts": 0.012,
    "tensix": 0.008,
    "ascend": 0.02,
    "agents": 0.012,
    "ends": 0.02,
    "credit_tensix": 0.012,
    "credit_copies": 0.012,
    "credit_crowded": 0.012,
    "credit_age": 0.012,
    "credit_levels": 0.008,
    "credit_limited": 0.012,
    "credit_wide": 0.012,
    "credit_ends": 0.012,
    "credit_hosts": 0.012,
}
OTHERS = {
    "crowded": 0.004,
    "streams": 0.008,
    "partial": 0.008,
    "wide": 0.004,
    "meetings": 0.008,
    "lanes": 0.008,
    "mesh": 0.004,
    "packet_mesh": 0.004,
    "multicasts": 0.008,
    "tiny": 0.008,
}  # of tests that change what must not matter
by_kind = pytest.mark.parametrize("kind", KINDS)
other_kinds = pytest.mark.parametrize("kind", OTHERS)


def in_flit_mode(program):
    program.flush()
    return compare(program, "flit", NaiveEngine(program).run())


@pytest.mark.slow
@by_kind
def test_both_modes_equal_the_interpreter(kind):
    check_fresh(kind, SHARES[kind], find_difference)


@pytest.mark.slow
@other_kinds
def test_short_passes_and_no_slack_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(memory, "_PASS_FLITS", 1)
    monkeypatch.setattr(memory, "_SLACK_FLITS", 0)
    check_fresh(kind, OTHERS[kind], in_flit_mode)


@pytest.mark.slow
@other_kinds
def test_a_pool_that_fills_up_changes_nothing(kind, monkeypatch):
    monkeypatch.setattr(session_module, "empty_pool", lambda _machine: np.empty((BLOCK, 2), np.int64))
    check_fresh(kind, OTHERS[kind], in_flit_mode)


def test_a_pool_is_enlarged_in_the_middle_of_a_pass(monkeypatch):
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


# What draws and compares


@by_kind
def test_a_seed_gives_the_same_program_again(kind):
    other = next(kind for kind in KINDS if kind not in SLOW)
    program = draw_program(kind, 3)
    draw_program(other, 1)
    again = draw_program(kind, 3)
    assert describe(program) == describe(again)
    assert program.row_count > 0


def two_transfers():
    """Two threads, of which the second moves two flits and a byte."""
    machine = BareMachine([(10, 1, 0, 1), (10, 1, 0, 1)], 2, [1], flit_bytes=64)
    machine.route("message", [0, 1])
    program = Program(machine)
    first, second = program.thread("first"), program.thread("second")
    first.delay(program.duration(("fs", 5)))
    first.exec(0, program.duration(("fs", 5)))
    second.mark(0)
    second.move(0, 129, hold=0)
    return program


@pytest.mark.parametrize(
    ("name", "at", "says"),
    [
        ("issue", 2, "row 2 (MARK) was issued at 0 in the loop and 1 in the interpreter (1 differ)"),
        ("end", 3, "row 3 (MOVE) ended at 33 in the loop and 34 in the interpreter (1 differ)"),
        ("server_busy", 0, "server 0 was busy for 38 in the loop and 39 in the interpreter (1 differ)"),
    ],
)
def test_the_first_difference_is_named(name, at, says):
    program = two_transfers()
    session = Session(program, "flit")
    session.run()
    naive = NaiveEngine(program).run()
    assert describe_difference(session, naive) is None
    getattr(naive, name)[at] += 1
    assert describe_difference(session, naive) == says


def test_the_smallest_program_keeps_what_differs():
    """As if every transfer of more than 64 bytes differed."""
    smallest = shrink(
        two_transfers(), lambda program: any(row[0] == 2 and row[2] > 64 for row in Recipe.of(program).threads[1])
    )
    assert Recipe.of(smallest).threads == ((), ((2, 0, 129, 0, NONE, NONE, NONE, 0),))
    assert "thread 1: MOVE route 0 bytes 129" in describe(smallest)


def test_a_recipe_gives_the_program():
    program = draw_program("pipelines", 5)
    again = Recipe.of(program).build()
    assert describe(again) == describe(program)
    assert NaiveEngine(again).run().events == NaiveEngine(program).run().events


# The soak


def test_a_soak_counts_programs_of_each_kind(capsys):
    kinds = ["--kind", "crowded", "--kind", "mesh"]
    assert soak.main([*kinds, "--programs", "3", "--workers", "1"]) == 0
    assert "6 programs (crowded 3, mesh 3), 0 differ" in capsys.readouterr().out


@pytest.mark.slow
def test_a_soak_runs_on_two_processes(capsys):
    assert soak.main(["--kind", "crowded", "--programs", "60"]) == 0
    assert "60 programs (crowded 60), 0 differ" in capsys.readouterr().out


def test_a_soak_tells_what_differs_and_how_to_run_it_again(capsys, monkeypatch):
    def find(program):
        program.flush()
        return "they differ" if program.row_count > 0 else None

    monkeypatch.setattr(soak, "find_difference", find)
    assert soak.main(["--kind", "crowded", "--programs", "1", "--seed", "7", "--shrink"]) == 1
    said = capsys.readouterr().out
    assert "crowded 7: they differ\n    python -m tests.engine.soak --kind crowded --seed 7 --programs 1" in said
    assert "crowded 7, smaller: they differ" in said


def test_a_soak_ends_when_its_time_is_over():
    chunks = soak.list_chunks(["crowded", "sip"], 5, None, float("inf"))
    assert [next(chunks) for _ in range(3)] == [("crowded", 5, 50), ("sip", 5, 1), ("crowded", 55, 50)]
    assert list(soak.list_chunks(["crowded"], 0, None, 0.0)) == []
