"""What threads and cores did in a run of task graphs, as rows of its program.

The program that ran has the loads, the work and the stores of kernels alone. To these are added, once the run has come to its
end, the phases of the runtime's threads, on the processors that they run on, and the blocks of tasks, on their cores; a block
whose kernel has one time is a row of the program already. What each phase and each core waited for was noted as the run went.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import NONE, Op
from kernbench.program.program import Waited
from kernbench.pto.results.record import ORCHESTRATOR, BlockRow, Cause, Phase, PhaseRow
from kernbench.pto.results.summary import thread_name
from kernbench.pto.runtime.orchestrator_thread import Backend
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.program.thread import Thread
    from kernbench.pto.launch import Outcome

CONTROL = "control"  # the kind of phases
BLOCK_KIND = "kernel"  # of blocks in op logs, as of what kernels do
STARTS, ENDS = "hand-over to a core", "hand-over from a core"
_IDLE = {ORCHESTRATOR: "wait"}  # what a thread does between two phases; a scheduler polls


def find_processor(outcome: Outcome, thread: int) -> str:
    """The processor that a thread of the runtime runs on."""
    if thread != ORCHESTRATOR:
        return f"aicpu{thread}"
    return "host" if outcome.backend == Backend.HOST else f"aicpu{len(outcome.device.schedulers)}"


def find_role(thread: int) -> str:
    """What a thread is, whichever of its kind."""
    return thread_name(thread).rstrip("0123456789")


def add_runtime_rows(outcome: Outcome) -> int:
    """Add the phases and blocks of a finished run to its program; returns the row that ends the run."""
    rows = _RuntimeRows(outcome)
    rows.add_phases()
    rows.add_blocks()
    return rows.close()


class _RuntimeRows:
    """Appends rows thread by thread, then their times and causes."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome, self._device, self._record = outcome, outcome.device, outcome.record
        self._program = outcome.session.program
        self._server = {name: at for at, name in enumerate(self._device.machine.server_name)}
        self._times: list[tuple[int, int, int]] = []  # issue, start, end of each row that is added
        self._phases: dict[int, tuple[PhaseRow, Thread, int]] = {}  # by the identity of the phase
        self._blocks: dict[int, tuple[Thread, int]] = {}  # that are added, by the identity of the block

    def add_phases(self) -> None:
        """A thread of the program for each of the runtime."""
        by_thread: dict[int, list[PhaseRow]] = {}
        for row in self._record.phases:
            by_thread.setdefault(row.thread, []).append(row)
        for number, rows in sorted(by_thread.items()):
            processor = find_processor(self._outcome, number)
            thread = self._program.thread(f"{processor}.{thread_name(number)}", find_role(number))
            for row in rows:
                tag, duration = self._program.tag(row.phase.label, CONTROL), self._duration(row)
                is_idle = row.phase == Phase.BLOCKED
                at = thread.delay(duration, tag) if is_idle else thread.exec(self._server[processor], duration, tag=tag)
                self._phases[id(row)] = row, thread, at
                self._times.append((row.seen_fs, row.start_fs, row.end_fs))

    def add_blocks(self) -> None:
        """A thread of the program for each core whose blocks are not rows of it already."""
        names = {row.task: row.name for row in self._record.tasks}
        by_core: dict[int, list[BlockRow]] = {}
        for row in self._record.blocks:
            if not self._is_row(row):
                by_core.setdefault(row.core, []).append(row)
        for number, rows in sorted(by_core.items()):
            place = self._device.cores[number].place
            thread = self._program.thread(place.name)
            for row in rows:
                at = thread.exec(place.server, self._duration(row), tag=self._program.tag(names[row.task], BLOCK_KIND))
                thread.note(at, {"task": row.task, "block": row.block})
                self._blocks[id(row)] = thread, at
                self._times.append((row.dispatch_fs, row.start_fs, row.end_fs))

    def close(self) -> int:
        """Move the rows to the op table with their times, and note their causes; returns the row that ends the run."""
        self._outcome.session.add_finished(np.array(self._times, np.int64).reshape(-1, 3))
        causes = self._program.causes
        for row, thread, at in self._phases.values():
            if (cause := self._find_cause(row)) is not None:
                causes[thread.find_row(at)] = self._wait_of(row, cause)
        before: dict[int, BlockRow] = {}  # by core
        for row in self._record.blocks:
            start = self._start_of(row, before.get(row.core))
            if id(row) in self._blocks:
                causes[self._row_of_core(row, row.first)] = start
            causes[self._shown(row)] = start
            before[row.core] = row
        last = max((row for row in self._record.phases if row.phase == Phase.SHUT_DOWN), key=lambda row: row.end_fs)
        return self._row_of(last)

    def _find_cause(self, row: PhaseRow) -> Cause | None:
        """The cause of a phase; instead of a phase that took no time, the cause of that."""
        cause = row.cause
        while cause is not None:
            found = Cause.at(cause, cause.end_fs) if isinstance(cause, PhaseRow) else cause
            if not isinstance(found.by, PhaseRow) or found.by.end_fs > found.by.start_fs:
                return found
            cause = found.by.cause
        return None

    def _wait_of(self, row: PhaseRow, cause: Cause) -> Waited:
        """What a phase waited for."""
        role, spent = find_role(row.thread), dict[str, int]()
        if row.phase == Phase.BLOCKED:
            spent = {f"{role}: blocked": row.end_fs - cause.done_fs}
            return Waited(self._row_of(cause.by), cause.done_fs, spent, self._shown(cause.by))
        since_fs = cause.done_fs
        if isinstance(cause.by, BlockRow):
            since_fs = min(cause.seen_fs, row.start_fs)
            spent[ENDS] = since_fs - cause.done_fs
        spent[f"{role}: {_IDLE.get(row.thread, 'poll')}"] = row.start_fs - since_fs
        return Waited(self._row_of(cause.by), cause.done_fs, spent, self._shown(cause.by))

    def _start_of(self, row: BlockRow, before: BlockRow | None) -> Waited:
        """What a core's own start waited for: its dispatch, or that the core ends the block before."""
        arrival_fs, dispatch = row.dispatch_fs + self._device.settings.time.doorbell, self._row_of(row.dispatch)
        if before is None or before.end_fs <= arrival_fs:
            return Waited(dispatch, row.dispatch_fs, {STARTS: row.start_fs - row.dispatch_fs}, dispatch)
        return Waited(self._row_of(before), before.end_fs, {STARTS: row.start_fs - before.end_fs}, dispatch)

    def _row_of(self, by: PhaseRow | BlockRow | None) -> int:
        """The row of the op table of a phase, or that with which a block ended on its core."""
        if isinstance(by, BlockRow):
            return self._row_of_core(by, by.last)
        if by is None or id(by) not in self._phases:
            return NONE
        _, thread, at = self._phases[id(by)]
        return thread.find_row(at)

    def _shown(self, by: PhaseRow | BlockRow | None) -> int:
        """The row of the op log of a phase or a block."""
        if not isinstance(by, BlockRow):
            return self._row_of(by)
        if id(by) not in self._blocks:
            return self._row_of_core(by, by.first + 1)
        thread, at = self._blocks[id(by)]
        return thread.find_row(at)

    def _row_of_core(self, row: BlockRow, at: int) -> int:
        return self._device.cores[row.core].thread.find_row(at)

    def _is_row(self, row: BlockRow) -> bool:
        """Whether the kernel of a block is one row, which holds the whole core."""
        code, server = self._program.op[self._row_of_core(row, row.first + 1), :2].tolist()
        return code == Op.EXEC and server == self._device.cores[row.core].place.server

    def _duration(self, row: PhaseRow | BlockRow) -> int:
        return self._program.duration(("ns", (row.end_fs - row.start_fs) / FS_PER_NS))
