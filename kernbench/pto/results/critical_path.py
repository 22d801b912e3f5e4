"""The critical path of a run of task graphs: from its end back over the runtime's threads and the cores, to each cause.

A thread shuts down when all is complete. A task is complete when a scheduler has seen its last block end. A block ends with
its kernel, whose own path is that of the device program. It begins when its core is free and its dispatch has arrived. It is
dispatched when the task is ready and the core has been seen to be free, whichever is later, and when the scheduler has come to
it. A task is ready when a scheduler completes the last of its producers, or finds it published. The orchestrator publishes
one after the other; where it is blocked, it goes on when a completion has given back what it waits for.

The pieces follow each other without gaps. What a scheduler did while the path waited for it is named as what it did.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Generator, Iterator
from functools import cache
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from kernbench.oplog.critical import PathFinder, Piece
from kernbench.program.ops import NONE
from kernbench.pto.results.record import ORCHESTRATOR, BlockRow, Phase, PhaseRow
from kernbench.pto.results.runtime_rows import PhaseIndex
from kernbench.pto.results.summary import thread_name

if TYPE_CHECKING:
    from kernbench.oplog.causes import Times
    from kernbench.pto.launch import Outcome
    from kernbench.pto.results.runtime_rows import RuntimeRows

POLL = "scheduler: poll"
STARTS, ENDS, KERNEL = "hand-over to a core", "hand-over from a core", "kernel"
BLOCKED = "orchestrator: blocked"
# Returns what comes before its pieces: a phase in which the end of a block is seen, NONE for the orchestrator, and a time.
_Steps = Generator[Piece, None, tuple[int, int]]
_READY = (Phase.COMPLETE, Phase.SCAN, Phase.DRAIN)


def find_graph_path(outcome: Outcome, times: Times, rows: RuntimeRows) -> tuple[Piece, ...]:
    """The pieces in the order of time; their rows are those of the op table, then those of `rows`."""
    return tuple(_GraphPath(outcome, times, rows).walk())[::-1]


class _GraphPath:
    """Walks back from the end, from one completion of a block to the one before, or to the orchestrator."""

    def __init__(self, outcome: Outcome, times: Times, rows: RuntimeRows) -> None:
        self._outcome, self._record, self._rows, self._times = outcome, outcome.record, rows, times
        session = outcome.session
        self._first = session.program.row_count  # the row of the first phase
        self._kernels = PathFinder(session.program, times, session.station_busy_fs)
        self._phases = self._record.phases
        self._all, self._readying = PhaseIndex(self._phases), PhaseIndex(self._phases, _READY)
        self._dispatches = PhaseIndex(self._phases, (Phase.DISPATCH,))
        self._tasks = {row.task: row for row in self._record.tasks}
        self._by_core: dict[int, list[BlockRow]] = {}
        self._number: dict[BlockRow, int] = {}  # of a block among those of its core
        self._cores_of: dict[tuple[int, int], list[BlockRow]] = {}
        for row in self._record.blocks:
            of_core = self._by_core.setdefault(row.core, [])
            self._number[row] = len(of_core)
            of_core.append(row)
            self._cores_of.setdefault((row.task, row.block), []).append(row)
        self._block_of: dict[int, BlockRow] = {}  # by the phase in which its end is seen
        self._seen: dict[BlockRow, int] = {}
        self._match_completions()
        self._rows_of_core = cache(self._find_rows)
        self._ended = sorted((self._phases[at].end_fs, at) for at in self._block_of)

    def _match_completions(self) -> None:
        """A scheduler sees the blocks of a core end in the order in which they did."""
        count = dict.fromkeys(self._by_core, 0)
        for at in sorted(range(len(self._phases)), key=lambda at: self._phases[at].start_fs):
            core = self._phases[at].core
            if core != NONE:
                row = self._by_core[core][count[core]]
                count[core] += 1
                self._block_of[at], self._seen[row] = row, at

    def walk(self) -> Iterator[Piece]:
        """Yield the pieces from the end to the start."""
        last = max((row for row in self._phases if row.phase == Phase.SHUT_DOWN), key=lambda row: row.end_fs)
        yield self._piece(last, last.start_fs, last.end_fs)
        seen, now_fs = self._ended[-1][::-1] if self._ended else (NONE, 0)
        if self._outcome.orchestrated_fs >= now_fs:
            seen, now_fs = NONE, self._outcome.orchestrated_fs
        yield from self._wait(last.thread, now_fs, last.start_fs)
        while now_fs > 0:
            seen, now_fs = yield from self._orchestrate(now_fs) if seen == NONE else self._follow(seen, now_fs)

    def _follow(self, seen: int, now_fs: int) -> _Steps:
        """From a time in the phase in which the end of a block is seen to what its dispatch waited for."""
        phase, block, time = self._phases[seen], self._block_of[seen], self._outcome.device.settings.time
        yield from self._cut(phase, now_fs)
        cond_fs = min(time.cond, phase.start_fs - block.end_fs)
        yield from self._wait(phase.thread, block.end_fs + cond_fs, phase.start_fs)
        yield from self._between(block.end_fs, block.end_fs + cond_fs, self._core(block), ENDS)
        while True:
            yield from self._run(block)
            before = self._before(block)
            if before is None or before.end_fs <= block.dispatch_fs + time.doorbell:
                yield from self._between(block.dispatch_fs, block.start_fs, self._core(block), STARTS)
                return (yield from self._dispatch(block))
            yield from self._between(before.end_fs, block.start_fs, self._core(block), STARTS)
            block = before

    def _run(self, block: BlockRow) -> Iterator[Piece]:
        """The kernel of a block on its core."""
        of_core, now_fs = self._rows_of_core(block.core), block.end_fs
        row = of_core[self._times.end_fs[of_core] == now_fs]
        for piece in self._kernels.walk(int(row[-1]), block.start_fs) if len(row) else ():
            yield piece
            now_fs = piece.start_fs
        yield from self._between(block.start_fs, now_fs, self._core(block), KERNEL)

    def _dispatch(self, block: BlockRow) -> _Steps:
        """From the dispatch of a block to what it waited for: a core, a producer or the orchestrator."""
        threads = [self._thread_of(block), *self._dispatches.threads()]
        at = next(at for thread in threads if (at := self._dispatches.find(thread, block.dispatch_fs)) != NONE)
        phase = self._phases[at]
        yield from self._cut(phase, block.dispatch_fs)
        task = self._tasks[block.task]
        freed = [self._seen[before] for one in self._cores_of[block.task, block.block] if (before := self._before(one))]
        freed = [seen for seen in freed if task.ready_fs <= self._phases[seen].start_fs < phase.start_fs]
        if freed:
            seen = max(freed, key=lambda seen: self._phases[seen].end_fs)
            end_fs = min(self._phases[seen].end_fs, phase.start_fs)
            yield from self._wait(phase.thread, end_fs, phase.start_fs)
            return seen, end_fs
        ready_fs = min(task.ready_fs, phase.start_fs)
        yield from self._wait(phase.thread, ready_fs, phase.start_fs)
        at = self._readying.find_before(task.scheduler, ready_fs)
        found = self._phases[at]
        yield from self._cut(found, ready_fs)
        if found.phase != Phase.COMPLETE:
            published_fs = min(task.published_fs, found.start_fs)
            yield from self._wait(found.thread, published_fs, found.start_fs)
            return NONE, published_fs
        if at in self._block_of:
            return at, min(found.start_fs, ready_fs)
        return self._readying.find_before(task.scheduler, found.start_fs), found.start_fs

    def _orchestrate(self, now_fs: int) -> _Steps:
        """What the orchestrator did up to a time, back to the start or to a completion that gave it what it waited for."""
        while now_fs > 0:
            at = self._all.find_before(ORCHESTRATOR, now_fs)
            phase = self._phases[at] if at != NONE else None
            since_fs = min(phase.end_fs, now_fs) if phase else 0
            yield from self._wait(ORCHESTRATOR, since_fs, now_fs)
            now_fs = since_fs
            if (
                phase
                and phase.phase == Phase.BLOCKED
                and (number := bisect_right(self._ended, now_fs, key=itemgetter(0)))
            ):
                end_fs, seen = self._ended[number - 1]
                if end_fs > phase.start_fs:
                    yield from self._between(end_fs, now_fs, self._rows.part_of_thread(ORCHESTRATOR), BLOCKED)
                    return seen, end_fs
            if phase:
                yield from self._cut(phase, now_fs)
                now_fs = phase.start_fs
        return NONE, 0

    def _wait(self, thread: int, start_fs: int, end_fs: int) -> Iterator[Piece]:
        """The time in which something waited for a thread, by what the thread did."""
        now_fs = end_fs
        while now_fs > start_fs:
            at = self._all.find_before(thread, now_fs)
            phase = self._phases[at] if at != NONE and self._phases[at].end_fs > start_fs else None
            busy_fs = min(phase.end_fs, now_fs) if phase else start_fs
            idle = POLL if thread != ORCHESTRATOR else "orchestrator: wait"
            yield from self._between(busy_fs, now_fs, self._rows.part_of_thread(thread), idle)
            if phase:
                yield self._piece(phase, max(phase.start_fs, start_fs), busy_fs)
                busy_fs = max(phase.start_fs, start_fs)
            now_fs = busy_fs

    def _cut(self, phase: PhaseRow, end_fs: int) -> Iterator[Piece]:
        """A phase up to a time in it."""
        if end_fs > phase.start_fs:
            yield self._piece(phase, phase.start_fs, end_fs)

    def _piece(self, phase: PhaseRow, start_fs: int, end_fs: int) -> Piece:
        name, told = thread_name(phase.thread), phase.phase.label
        at = self._all.find_before(phase.thread, end_fs)
        kind = f"{name.rstrip('0123456789')}: {told}"
        part = f"{self._rows.part_of_thread(phase.thread)}.{name}"
        return Piece(start_fs, end_fs, self._first + at, part, told, {kind: end_fs - start_fs})

    def _between(self, start_fs: int, end_fs: int, part: str, kind: str) -> Iterator[Piece]:
        if end_fs > start_fs:
            yield Piece(start_fs, end_fs, NONE, part, "", {kind: end_fs - start_fs})

    def _before(self, block: BlockRow) -> BlockRow | None:
        number = self._number[block]
        return self._by_core[block.core][number - 1] if number else None

    def _find_rows(self, core: int) -> np.ndarray:
        """int64[row] the rows of the program that a core issued."""
        return np.flatnonzero(self._outcome.session.program.op_thread == self._outcome.device.cores[core].thread.id)

    def _core(self, block: BlockRow) -> str:
        return self._outcome.device.cores[block.core].place.name

    def _thread_of(self, block: BlockRow) -> int:
        scheduler = self._outcome.device.cores[block.core].scheduler
        return NONE if scheduler is None else scheduler.number
