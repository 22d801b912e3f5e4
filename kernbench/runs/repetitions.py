"""Repetitions of a run: its program on machines that differ in times alone, many in one call.

What-if tables, error bars and fits of machines are made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.engine.batch import Batch, Runs
from kernbench.engine.batch_times import batch_times
from kernbench.engine.session import Session
from kernbench.errors import DeadlockError
from kernbench.machine.intents import EdgeKind
from kernbench.machine.variant import make_variant
from kernbench.program.ops import NONE, Op
from kernbench.runs.metrics import latency_fs

if TYPE_CHECKING:
    from kernbench.host.device.launch import Launch
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread

OnDone = Callable[[float], object]  # (runs that are done)


class Repetitions:
    """Runs of a finished program on machines that differ from its own in times alone.

    The program is kept, with all that a bench, a kernel or an algorithm chose by the machine's rates. `launches` say between
    which rows the latency is; without any it is the makespan.
    """

    def __init__(self, program: Program, launches: Sequence[Launch]) -> None:
        self._program, self._launches = program, _launches_of(program, launches)
        self._batch = None if program.machine.flow_control else Batch(program)

    def run(self, values: Mapping[str, np.ndarray], on_done: OnDone = lambda _: None) -> list[tuple[int, int]]:
        """The latency (fs) of each run, and how much waits for ever at its end, as queues that nobody reads.

        `values`: float64[run] of each field that differs, in its own unit. `on_done(runs)` is called with how many are done.
        Errors: OverflowError for a time beyond what can be counted.
        """
        found = list[tuple[int, int]]()
        for some in self._run_alone(values, on_done) if self._batch is None else self._run_together(values, on_done):
            found += some
            on_done(len(found))
        return found

    def _run_together(self, values: Mapping[str, np.ndarray], on_done: OnDone) -> Iterator[Iterable[tuple[int, int]]]:
        assert self._batch is not None
        times = batch_times(self._program, self._program.machine.origins(), values)
        for runs in self._batch.run(times, partial(_tell, on_done)):
            yield zip(latency_fs(runs, self._launches).tolist(), runs.left.tolist(), strict=True)

    def _run_alone(self, values: Mapping[str, np.ndarray], on_done: OnDone) -> Iterator[Iterable[tuple[int, int]]]:
        """On a machine with credits; a run in which packets stand still leaves a number that no other run leaves."""
        machine = self._program.machine
        for run in range(len(next(iter(values.values())))):
            own = {field: float(column[run]) for field, column in values.items()}
            changed = {field: value for field, value in own.items() if value != machine.figures[field]}
            session = Session(self._program.on(make_variant(machine, changed)))
            try:
                session.run(on_progress=partial(_tell, on_done, run))
            except DeadlockError:
                yield [(0, NONE)]
                continue
            yield [(int(latency_fs(Runs.of(session), self._launches)[0]), len(session.waiting))]


def _tell(on_done: OnDone, run: int, served: int, known: int, _now_fs: int) -> None:
    on_done(run + served / max(known, 1))


def _launches_of(program: Program, launches: Sequence[Launch]) -> list[Launch]:
    """Launches whose rows are found in the threads of another program with the same threads."""

    def moved(place: tuple[Thread, int]) -> tuple[Thread, int]:
        return program.threads[place[0].id], place[1]

    found: list[Launch] = []
    for launch in launches:
        own = copy(launch)
        own.issued, own.completed = moved(launch.issued), moved(launch.completed)
        found.append(own)
    return found


def used_fields(program: Program) -> frozenset[str]:
    """The fields of the topology that any time of a program follows from."""
    machine = program.machine
    origins, tables = machine.origins(), machine.routing.tables()
    named = {name for terms in program.durations for name, _ in terms}
    found = {origin.field for name, origin in origins.figures.items() if name in named}
    entries = program.op.values
    routes = np.flatnonzero(np.bincount(entries[entries[:, 0] == Op.MOVE, 1]))
    steps, _ = expand_ranges(tables.start[routes], tables.end[routes])
    charged = machine.routing.overhead_stations()[steps]
    stations = tables.station[steps]
    of_charged = origins.overhead[charged[charged != NONE]]
    found_at = np.concatenate([origins.service[stations], origins.turn[stations], of_charged])
    if machine.flow_control:  # all routers have the cycle of the fastest link
        between = machine.edge_kind != EdgeKind.PE
        found_at = np.concatenate([found_at, origins.service[: machine.edge_count][between]])
    numbers: list[int] = np.unique(found_at[found_at != NONE]).tolist()
    return frozenset(found | {origins.known[at].field for at in numbers})
