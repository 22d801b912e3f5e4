"""Many runs in one call against a session for each, bit for bit."""

from __future__ import annotations

import copy
from random import Random

import numpy as np
import pytest

from kernbench.engine import Session, progress
from kernbench.engine import batch as module
from kernbench.engine.batch import Batch
from kernbench.engine.batch_times import BatchTimes
from kernbench.machine import load_machine
from kernbench.program.ops import NONE
from kernbench.program.program import Program
from tests.engine.bare import BareMachine
from tests.engine.fresh import draw_seeds, run_seed
from tests.engine.random_programs import draw_program, draw_time

KINDS = ("crowded", "partial")
both_modes = pytest.mark.parametrize("mode", ["hybrid", "flit"])


class Slower(BareMachine):
    """A bare machine with other times: `full`, `turn` and `overhead` by station and step, and a factor for durations."""

    def __init__(self, machine, full, turn, overhead, factor):
        self.__dict__ |= copy.deepcopy(machine.__dict__)
        self.stations = self.stations._replace(fs_per_flit=np.array(full), turn_fs=np.array(turn))
        self.figures = {name: fs * factor for name, fs in machine.figures.items()}
        self.routing.machine = self
        steps = iter(overhead)
        self.routing.routes = [
            (
                kind,
                [
                    (station, stripes, next(steps), store_and_forward)
                    for station, stripes, _, store_and_forward in route
                ],
                lead,
                tail,
            )
            for kind, route, lead, tail in machine.routing.routes
        ]


def times_of(program, machines):
    """Every time of these machines as a column of its own."""
    rows = [
        np.concatenate(
            [
                machine.stations.fs_per_flit,
                machine.stations.turn_fs,
                machine.routing.tables().overhead_fs,
                program.on(machine).duration_fs(),
            ]
        )
        for machine in machines
    ]
    stations, steps = len(machines[0].stations.fs_per_flit), len(machines[0].routing.tables().station)
    ends = np.cumsum([stations, stations, steps, len(program.durations)])
    return BatchTimes(np.array(rows), *np.split(np.arange(ends[-1]), ends[:-1]))


def assert_same(program, machines, mode):
    """Each run of the group is that of a session on its machine."""
    seen = []
    for runs in Batch(program, mode).run(times_of(program, machines)):
        for at, machine in enumerate(machines[runs.points]):
            session = Session(program.on(machine), mode)
            session.run()
            for name in ("op_issue_fs", "op_start_fs", "op_end_fs"):
                assert np.array_equal(getattr(runs, name)[at], getattr(session, name)), name
            assert [column[at] for column in (runs.now_fs, runs.events, runs.flit_hops)] == [
                session.now_fs,
                session.events,
                session.flit_hops,
            ]
            assert (runs.left[at] > 0) == waits(session)
            seen.append(machine)
    assert seen == machines


def waits(session):
    try:
        session.check_finished()
    except Exception:
        return True
    return False


def draw_group(kind, seed):
    """A program, and machines that differ from its own in times."""
    program, random = draw_program(kind, seed), Random(f"machines of {kind} {seed}")
    machine = program.machine
    program.flush()
    stations = len(machine.stations.fs_per_flit)
    machines = [
        Slower(
            machine,
            alike(machine, random.choices((1, 2, 3, 8, 10, 40), k=stations)),
            alike(machine, random.choices((0, 0, 7), k=stations)),
            draw_overheads(random, machine),
            random.choice((0.0, 0.5, 1.0, 3.0)),
        )
        for _ in range(random.randint(1, 4))
    ]
    return program, machines


def alike(machine, figures):
    """Of each station, where the channels of a memory have the figure of its first."""
    for _, route, _, _ in machine.routing.routes:
        for station, stripes, _, _ in route:
            figures[station : station + stripes] = [figures[station]] * stripes
    return figures


def draw_overheads(random, machine):
    """Of each step: that of the node between two stations, the same on all routes, and none behind a striped memory."""
    between = {}
    found = []
    for _, route, _, _ in machine.routing.routes:
        before, striped = NONE, False
        for station, stripes, _, _ in route:
            overhead = between.setdefault((before, station), draw_time(random))
            found.append(0 if striped else overhead)
            before, striped = station, stripes > 1
    return found


def check_fresh_groups(kind, mode, share):
    for seed in draw_seeds(share):
        program, machines = draw_group(kind, seed)
        try:
            assert_same(program, machines, mode)
        except AssertionError as error:
            raise AssertionError(f"{kind} {seed}, of a run with --seed {run_seed()}: {error}") from error


@pytest.mark.slow
@both_modes
@pytest.mark.parametrize("kind", KINDS)
def test_a_group_equals_single_runs(kind, mode):
    check_fresh_groups(kind, mode, 0.006)


@pytest.mark.slow
@both_modes
@pytest.mark.parametrize("kind", KINDS)
def test_calls_that_end_in_the_middle_of_a_point_change_nothing(kind, mode, monkeypatch):
    monkeypatch.setattr(module, "WORK_A_CALL", 7)
    monkeypatch.setattr(module, "_CELLS", 1)
    check_fresh_groups(kind, mode, 0.004)


def crowded():
    """Hundreds of transfers at once, more than the pools have room for at first, and machines ever slower."""
    machine = BareMachine([(10, 1, 0, 1), (10, 1, 0, 1), (20, 1, 0, 1)], 3, [1])
    routes = [machine.route("message", [0, 2]), machine.route("message", [1, 2])]
    program = Program(machine)
    for number in range(2):
        thread, done = program.thread(f"t{number}"), program.counter(f"c{number}")
        for _ in range(400):
            thread.move(routes[number], 700, done=done)
            thread.exec(0, program.duration(("fs", 3)))
        thread.wait(done, 400)
    program.flush()
    return program, [Slower(machine, [10 * k, 10, 20 + k], [0, 0, 0], [0] * 4, k) for k in (1, 2, 7)]


@both_modes
def test_pools_grow_for_the_point_that_needs_it(mode):
    assert_same(*crowded(), mode)


@both_modes
def test_progress_is_told_within_a_run(mode, monkeypatch):
    """Of each run as a session of its own tells it, which also stops after so many events."""
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    monkeypatch.setattr(module, "WORK_A_CALL", 50)
    program, machines = crowded()
    told = []
    for _ in Batch(program, mode).run(times_of(program, machines), lambda *found: told.append(found)):
        pass
    assert {run for run, *_ in told} == {0, 1, 2}
    assert told == sorted(told)
    assert {known for _, _, known, _ in told} == {2 * 400 * 2 * 3}
    assert all(served <= known for _, served, known, _ in told)
    assert max(served for _, served, *_ in told) > 1000


@both_modes
def test_a_run_that_exceeds_its_time_is_given_up_and_the_next_ones_run(mode, monkeypatch):
    program, machines = crowded()
    whole = [runs.now_fs.tolist() for runs in Batch(program, mode).run(times_of(program, machines))]
    monkeypatch.setattr(module, "WORK_A_CALL", 50)
    clock = iter(range(10**9))
    monkeypatch.setattr(module, "running_s", lambda: next(clock))
    for limit_s, ended in ((10**8, [True] * 3), (3, [False] * 3)):
        found = list(Batch(program, mode).run(times_of(program, machines), limit_s=limit_s))
        assert np.concatenate([runs.left == 0 for runs in found]).tolist() == ended
    assert len(np.concatenate(whole)) == 3


def test_a_group_runs_again_and_with_other_points():
    program, machines = crowded()
    group = Batch(program)
    first = [runs.now_fs.tolist() for runs in group.run(times_of(program, machines))]
    again = [runs.now_fs.tolist() for runs in group.run(times_of(program, machines[::-1]))]
    assert np.concatenate(again).tolist() == np.concatenate(first).tolist()[::-1]


def test_of_points_only_those_wait_that_wait_for_ever():
    """The second thread asks whether the counter is 1; where it comes late the counter is 2 already."""
    machine = BareMachine([(10, 1, 0, 1)], 1, [1])
    program = Program(machine)
    adds, waits_for = program.thread("adds"), program.thread("waits")
    counter = program.counter("c")
    adds.until(100)
    adds.add(counter)
    adds.until(200)
    adds.add(counter)
    waits_for.delay(program.duration(("fs", 50)))
    waits_for.wait(counter, 1, compare=1)
    program.flush()
    machines = [Slower(machine, [10], [0], [], factor) for factor in (1, 3, 5, 2)]
    (runs,) = Batch(program).run(times_of(program, machines))
    assert runs.left.tolist() == [0, 0, 1, 0]
    assert_same(program, machines, "hybrid")


def test_a_thread_that_asks_for_rows_makes_no_group():
    program = Program(BareMachine([(10, 1, 0, 1)], 1, [1]))
    program.thread("t").ask()
    program.flush()
    with pytest.raises(ValueError, match="asks for rows"):
        Batch(program)


def test_a_machine_with_credits_makes_no_group():
    program = Program(load_machine("tiny", {"flow_control": "credit"}))
    with pytest.raises(ValueError, match="with credits tables follow from times; make a session for each run"):
        Batch(program)
