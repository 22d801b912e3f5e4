"""The record of a run: what each thread and core did when, and how full rings and pools were."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from kernbench.pto.runtime.core import Assigned
    from kernbench.pto.tasks.task import Task

ORCHESTRATOR = -1  # its number among the threads


class Phase(IntEnum):
    """What a thread spends its time on."""

    START_UP = 0
    SUBMIT = 1
    LOOKUP = 2
    BLOCKED = 3
    SCOPE = 4
    COMPLETE = 5
    DISPATCH = 6
    SCAN = 7
    DRAIN = 8
    SHUT_DOWN = 9

    @property
    def label(self) -> str:
        """Its name in op logs, traces and critical paths."""
        return self.name.lower().replace("_", " ")


@dataclass(slots=True)
class PhaseRow:
    """A stretch of a thread's time, in femtoseconds, and what it waited for: the phase before, another cause, or nothing."""

    thread: int
    phase: Phase
    start_fs: int
    end_fs: int
    seen_fs: int  # from when on what it works on could be seen, though the thread may have been busy
    cause: PhaseRow | Cause | None = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A block of a task on a core, in femtoseconds."""

    task: int
    block: int
    core: int
    dispatch_fs: int
    start_fs: int
    end_fs: int
    dispatch: PhaseRow = field(repr=False, compare=False)  # in which it was dispatched
    first: int  # its rows among those of the core's thread, from the core's own start to its end
    last: int


class Cause(NamedTuple):
    """What something waited for: a phase, or the end of a block; when that was done, and from when on it could be seen."""

    by: PhaseRow | BlockRow | None
    done_fs: int
    seen_fs: int

    @classmethod
    def at(cls, by: PhaseRow | None, fs: int) -> Self:
        """A cause in a phase that can be seen at once."""
        return cls(by, fs, fs)


class TaskRow(NamedTuple):
    """A task, and when it was found ready."""

    task: int
    name: str
    ready_fs: int

    @classmethod
    def of(cls, task: Task) -> Self:
        """The row of a task that is complete."""
        return cls(task.id, task.kernel.name, task.ready_fs)


class Occupancy(NamedTuple):
    """How full rings, pools and queues were at an instant."""

    fs: int
    tasks: int  # slots in use
    heap_bytes: int
    dep_entries: int
    map_entries: int
    ready: int  # tasks in ready queues


@dataclass(slots=True)
class Record:
    """All that is kept of a run, in the order in which it happened."""

    blocks: list[BlockRow] = field(default_factory=list[BlockRow])
    phases: list[PhaseRow] = field(default_factory=list[PhaseRow])
    occupancy: list[Occupancy] = field(default_factory=list[Occupancy])
    tasks: list[TaskRow] = field(default_factory=list[TaskRow])
    warnings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])  # (time in fs, text)
    blocked: int = 0  # allocations that had to wait
    recycled: int = 0  # slots that were given to a further task
    latest: dict[int, PhaseRow] = field(default_factory=dict[int, PhaseRow])  # the phase of each thread that began last

    def add_block(self, block: Assigned, core: int, times_fs: tuple[int, int], rows: tuple[int, int]) -> BlockRow:
        """A block has ended; its start and end, its first and last row."""
        task, number, dispatch_fs, _, dispatch = block
        self.blocks.append(BlockRow(task.id, number, core, dispatch_fs, *times_fs, dispatch, *rows))
        return self.blocks[-1]

    def begin_phase(self, thread: int, phase: Phase, start_fs: int, cause: Cause | None = None) -> PhaseRow:
        """A thread begins to work, or to wait: because of a cause, or of its phase before if that ended later."""
        before = self.latest.get(thread)
        seen_fs = start_fs if cause is None else min(cause.seen_fs, start_fs)
        is_busy = cause is None or (before is not None and before.end_fs >= cause.seen_fs)
        last = before
        if before is not None and before.end_fs == before.start_fs:
            last = before.cause  # of a phase that took no time
        found = PhaseRow(thread, phase, start_fs, start_fs, seen_fs, last if is_busy else cause)
        self.latest[thread] = found
        return found

    def end_phase(self, row: PhaseRow, end_fs: int) -> None:
        """A phase has come to its end; one that took no time is not kept."""
        row.end_fs = end_fs
        if end_fs > row.start_fs:
            self.phases.append(row)

    def add_phase(self, thread: int, phase: Phase, start_fs: int, end_fs: int, cause: Cause | None = None) -> PhaseRow:
        """A thread has worked for some time."""
        found = self.begin_phase(thread, phase, start_fs, cause)
        self.end_phase(found, end_fs)
        return found
