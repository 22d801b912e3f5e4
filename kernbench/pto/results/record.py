"""The record of a run: what each thread and core did when, and how full rings and pools were."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple, Self

from kernbench.program.ops import NONE

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


class BlockRow(NamedTuple):
    """A block of a task on a core, in femtoseconds."""

    task: int
    block: int
    core: int
    dispatch_fs: int
    start_fs: int
    end_fs: int


class PhaseRow(NamedTuple):
    """A stretch of a thread's time."""

    thread: int
    phase: Phase
    start_fs: int
    end_fs: int
    core: int = NONE  # whose oldest block that was not seen to end is seen to, if the phase begins so


class TaskRow(NamedTuple):
    """A task: when its submission began, when schedulers could see it, and when which of them found it ready."""

    task: int
    name: str
    submitted_fs: int
    ready_fs: int
    published_fs: int
    scheduler: int

    @classmethod
    def of(cls, task: Task) -> Self:
        """The row of a task that is complete."""
        return cls(task.id, task.kernel.name, task.submitted_fs, task.ready_fs, task.published_fs, task.scheduler)


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

    def add_block(self, block: Assigned, core: int, start_fs: int, end_fs: int) -> None:
        """A block has ended."""
        self.blocks.append(BlockRow(block.task.id, block.block, core, block.dispatch_fs, start_fs, end_fs))

    def add_phase(self, thread: int, phase: Phase, start_fs: int, end_fs: int, core: int = NONE) -> None:
        """A thread has worked, or waited, for some time."""
        if end_fs > start_fs:
            self.phases.append(PhaseRow(thread, phase, start_fs, end_fs, core))
