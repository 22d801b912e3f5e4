"""Bounds against the clock: below and above what the loop says, for any program that ends."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, event, given, settings

from kernbench.analytic import bounds
from kernbench.engine import Session
from kernbench.errors import DeadlockError, RunError
from kernbench.machine import load_machine
from kernbench.program.program import Program
from tests.analytic.recording import BENCHES, named, record
from tests.engine.random_programs import KINDS, draw_program
from tests.engine.strategies import programs


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(programs())
def test_bounds_hold(program):
    session = Session(named(program), "flit")
    session.run()
    try:
        session.check_finished()
    except DeadlockError:
        assume(False)
    found = bounds(program)
    event(f"binding {found.binding.split(maxsplit=1)[0]}")
    event("tight" if found.lower_fs == session.now_fs else "loose")
    assert found.lower_fs <= session.now_fs <= found.upper_fs


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["multicasts", "multicast_tiny", "multicast_mesh"])
def test_bounds_hold_of_multicasts(kind):
    tight = 0
    for seed in range(60):
        program = draw_program(kind, seed)
        session = Session(named(program) if kind == "multicasts" else program, "flit")
        session.run()
        try:
            session.check_finished()
        except DeadlockError:
            continue
        found = bounds(program)
        assert found.lower_fs <= session.now_fs <= found.upper_fs, seed
        tight += found.lower_fs == session.now_fs
    assert tight > 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("credit")])
def test_bounds_hold_with_credits(kind):
    near = 0.0
    for seed in range(12):
        program = draw_program(kind, seed)
        session = Session(program, "hybrid")
        session.run()
        try:
            session.check_finished()
        except DeadlockError:
            continue
        found = bounds(program)
        assert found.lower_fs <= session.now_fs <= found.upper_fs, seed
        near = max(near, found.lower_fs / max(1, session.now_fs))
    assert near > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("bench", BENCHES)
def test_bounds_of_shipped_benches(bench):
    device = record(bench)
    device.run()
    found = bounds(device.program)
    assert 0.99 * device.session.now_fs <= found.lower_fs <= device.session.now_fs <= found.upper_fs
    assert found.binding.startswith("critical path")


def busy(threads: int, times: int, cycles: float = 3e12) -> Program:
    """Threads that are busy for 3,000 s, some times one after the other."""
    program = Program(load_machine("tiny"))
    for i in range(threads):
        thread = program.thread(f"t{i}")
        for _ in range(times):
            thread.delay(program.duration(("pe_cpu.cycle", cycles)))
    return program


def test_all_one_after_the_other_may_take_longer_than_any_clock_counts():
    found = bounds(busy(threads=4, times=1))
    assert (found.lower_fs, found.upper_fs) == (3 * 10**18, 12 * 10**18)


@pytest.mark.parametrize("times", [2, 3, 7])
def test_what_takes_longer_at_the_least_is_refused(times):
    with pytest.raises(RunError) as caught:
        bounds(busy(threads=1, times=times))
    assert str(caught.value) == (
        "the run takes 6,000,000,000,000 ns or more, beyond 4,611 s of simulated time, the most that the clock can "
        "count; make it shorter"
    )


def test_a_duration_beyond_the_clock_is_refused():
    with pytest.raises(RunError) as caught:
        bounds(busy(threads=1, times=1, cycles=1e14))
    assert str(caught.value) == (
        "an operation takes 1e+14 x pe_cpu.cycle, beyond 4,611 s of simulated time, the most that the clock can count; "
        "ask for less"
    )
