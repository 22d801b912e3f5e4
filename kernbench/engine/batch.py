"""Batch of runs of one program on machines that differ in times alone: memory is built once, few calls run all points.

The results of each run are bit for bit those of a `Session` on that machine. A machine with credits has no batch: the tables
of its network follow from times, and a `Session` makes them for each run (`kernbench.machine.variant` has the machines).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.engine.jit_status import enter, running_s
from kernbench.engine.memory import empty_pool, enlarged_pool, find_limits
from kernbench.engine.progress import ProgressReporter
from kernbench.engine.session import WORK_A_CALL, Session
from kernbench.limits.run_options import OnProgress
from kernbench.program.ops import NONE, Op
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.records import NEVER, word_of, words_of
from kernels_jit.loop.batch import (
    FOUND_COLUMNS,
    FOUND_EVENTS,
    FOUND_HOPS,
    FOUND_LEFT,
    FOUND_NOW_FS,
    Common,
    run_points,
)

if TYPE_CHECKING:
    from kernbench.engine.batch_times import BatchTimes
    from kernbench.program.program import Program

_CELLS = 1 << 20  # times of rows, or of stations, that are held at once

OnRun = Callable[[int, int, int, int], None]  # (run, served, known, now_fs), as by `Session.run`


class Runs(NamedTuple):
    """Finished runs of consecutive points, good until the next are asked for."""

    points: slice
    found: np.ndarray  # int64[run, FOUND_COLUMNS] of `kernels_jit.loop.batch`
    times: np.ndarray  # TIME[run, row]
    busy_fs: np.ndarray | None = None  # float64[run, part] of servers, then stations; a group keeps none

    @classmethod
    def of(cls, session: Session) -> Runs:
        """The finished run of a session, as a batch of one."""
        found = np.zeros((1, FOUND_COLUMNS), np.int64)
        found[0, [FOUND_NOW_FS, FOUND_EVENTS, FOUND_HOPS]] = session.now_fs, session.events, session.flit_hops
        busy_fs = np.concatenate([session.server_busy_fs, session.station_busy_fs])
        return cls(slice(0, 1), found, session.op_times[None], busy_fs[None])

    @property
    def now_fs(self) -> np.ndarray:
        """int64[run] the time of the last event."""
        return self.found[:, FOUND_NOW_FS]

    @property
    def events(self) -> np.ndarray:
        """int64[run]"""
        return self.found[:, FOUND_EVENTS]

    @property
    def flit_hops(self) -> np.ndarray:
        """int64[run] how many times a flit has crossed a link."""
        return self.found[:, FOUND_HOPS]

    @property
    def left(self) -> np.ndarray:
        """int64[run] what has not come to its end: threads that wait, events and transfers later than can be counted."""
        return self.found[:, FOUND_LEFT]

    @property
    def op_issue_fs(self) -> np.ndarray:
        """int64[run, row] when each row was asked for; -1: never."""
        return self.times["issue_fs"]

    @property
    def op_start_fs(self) -> np.ndarray:
        """int64[run, row] when each row began, after queueing; -1: never."""
        return self.times["start_fs"]

    @property
    def op_end_fs(self) -> np.ndarray:
        """int64[run, row] when each row was complete; -1: never."""
        return self.times["end_fs"]


class Batch:
    """A program in the memory of the loop, with all its threads recorded.

    Errors: ValueError where one asks for more rows, or for a machine with credits.
    """

    def __init__(self, program: Program, mode: str = "hybrid") -> None:
        if (program.op.values[:, 0] == Op.ASK).any():
            raise ValueError("a program that asks for rows has no runs that could be known before they are run")
        machine = program.machine
        if machine.flow_control:
            raise ValueError("on a machine with credits tables follow from times; make a session for each run")
        self._memory, builder = Session(program, mode).lay()
        network, flits, none = builder.build(), builder.list_flits(), np.zeros(0, np.int64)
        self._common = Common(
            template=self._memory.used,
            op=program.op.values,
            entry=program.op.entry,
            word=none,
            column=none,
            order=network.order,
            cyclic=network.window_fs < NEVER,
            sources=network.sources,
            before_start=network.before_start,
            before=network.before,
            after=np.repeat(np.arange(len(network.order)), np.diff(network.before_start)),
            flit_edge=flits.edge,
            flit_bytes=flits.nbytes,
            edge_count=machine.edge_count,
        )
        self._fs_per_flit = machine.stations.fs_per_flit
        self._steps = len(network.step) - 1 if self._memory["steps"] else 0  # in the memory
        self._most = max(1, _CELLS // max(program.row_count * words_of(r.TIME), len(self._fs_per_flit)))
        self._times = np.empty((self._most, program.row_count), r.TIME)
        self._pool = empty_pool(machine)
        self._progress = ProgressReporter(program)

    def run(self, times: BatchTimes, on_run: OnRun | None = None, limit_s: float | None = None) -> Iterator[Runs]:
        """Run the points of batch times; yields, after each call of the compiled code, those that it has finished.

        `on_run(run, served, known, now_fs)` is called every second or sooner in runs that take longer. A run that takes more
        than `limit_s` is given up, and is not at its end (`Runs.left`).

        Errors: OverflowError at a point with more transfers in flight than can be named.
        """
        for first in range(0, len(times.values), self._most):
            some = times.of(slice(first, first + self._most))
            yield from self._run(first, some, on_run, inf if limit_s is None else limit_s)

    def _run(self, first: int, times: BatchTimes, on_run: OnRun | None, limit_s: float) -> Iterator[Runs]:
        memory = self._memory
        word, column, values = self._list_words(times)
        words = np.empty_like(memory.used)
        found = np.zeros((len(values), FOUND_COLUMNS), np.int64)
        done, begun, begun_s = 0, 0, running_s()
        while done < len(values):
            common = self._common._replace(template=memory.used, word=word, column=column)
            arrays = values, words, self._times, self._pool, found
            status, end = enter(run_points, common, *arrays, done, begun, WORK_A_CALL)
            begun = int(status in (codes.MORE, codes.GROW_SLOTS))
            if status == codes.GROW_SLOTS:
                self._pool = enlarged_pool(self._pool)
            elif status not in (codes.IDLE, codes.MORE):
                memory.grow(status)
                words = np.empty_like(memory.used)
            if begun and end == done and running_s() - begun_s > limit_s:
                found[end, FOUND_LEFT], end, begun = 1, end + 1, 0
            if end > done:
                begun_s = running_s()
                here = slice(done, end)
                yield Runs(slice(first + done, first + end), found[here], self._times[here])
            done = end
            if begun and on_run is not None and self._progress.is_due:
                self._report(partial(on_run, first + done), words)

    def _report(self, on_progress: OnProgress, words: np.ndarray) -> None:
        """Report the progress of the run that is in int64[word] of memory."""
        start, size = self._memory["stations"], words_of(r.STATION)
        flits = words[start + word_of(r.STATION, "flits") :: size][: len(self._fs_per_flit)]
        self._progress.report(on_progress, flits, int(words[word_of(r.STATE, "now_fs")]))

    def _list_words(self, times: BatchTimes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Which words of the memory differ, int64[], in which column of its values each is, and int64[point, column]."""
        memory, limits = self._memory, find_limits(times.fs_per_flit(self._fs_per_flit))
        state = np.full(words_of(r.STATE), NONE)
        state[[word_of(r.STATE, "window_fs"), word_of(r.STATE, "slack_fs")]] = times.values.shape[1] + np.arange(2)
        station, step = words_of(r.STATION), words_of(r.STEP)
        tables = (
            (0, 1, state),
            (memory["stations"] + word_of(r.STATION, "full_fs"), station, times.full),
            (memory["stations"] + word_of(r.STATION, "turn_fs"), station, times.turn),
            (memory["steps"] + word_of(r.STEP, "overhead_fs"), step, times.overhead[: self._steps]),
            (memory["durations"], 1, times.duration),
        )
        word = [start + columns * np.flatnonzero(column != NONE) for start, columns, column in tables]
        column = [column[column != NONE] for *_, column in tables]
        return np.concatenate(word), np.concatenate(column), np.append(times.values, limits, axis=1)
