"""Cores: they take what is written to their task register, run it, and write to COND that it is done."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from kernbench.pto.results.record import Cause
from kernbench.pto.tasks.task import Task

if TYPE_CHECKING:
    from kernbench.machine.families.ascend.places import CorePlace
    from kernbench.pto.results.record import PhaseRow
    from kernbench.pto.runtime.cluster_program import CoreContext
    from kernbench.pto.runtime.device import Device
    from kernbench.pto.runtime.scheduler import Scheduler


class Assigned(NamedTuple):
    """A block of a task that was dispatched to a core."""

    task: Task
    block: int
    dispatch_fs: int  # when the register was written
    arrival_fs: int  # when the core can see it
    dispatch: PhaseRow


class Core:
    """A core: what it runs, and what waits in its registers. `load` is how many of these its scheduler counts."""

    __slots__ = (
        "assigned",
        "context",
        "device",
        "done",
        "fins",
        "first",
        "freed",
        "index",
        "load",
        "place",
        "scheduler",
        "start_fs",
        "started",
        "thread",
    )

    def __init__(self, device: Device, index: int, place: CorePlace) -> None:
        self.device = device
        self.index = index
        self.place = place
        self.scheduler: Scheduler | None = None
        self.assigned: deque[Assigned] = deque()
        self.fins: deque[tuple[Cause, Assigned]] = (
            deque()
        )  # (the end of a block, which COND shows then, what has ended)
        self.freed: Cause | None = None  # when a scheduler saw last that it ended something
        self.context: CoreContext | None = None  # of a function that runs coupled
        self.load = 0
        self.started = False  # whether it has run anything
        self.start_fs = 0  # of what it runs
        self.first = 0  # row of its thread of that, the core's own start
        self.thread = device.agents.worker(place.name, self._end)
        self.done = device.program.counter(f"{place.name} done")

    def accept(self, block: Assigned, now_fs: int) -> None:
        """A block is written to the task register; it begins when the core is free."""
        self.load += 1
        self.assigned.append(block)
        self.device.note_progress(block.dispatch_fs)
        if len(self.assigned) == 1:
            self._begin(now_fs)

    def _begin(self, now_fs: int) -> None:
        """Write the rows of the next block: until it has arrived, the core's own start, the kernel."""
        block, device, thread = self.assigned[0], self.device, self.thread
        at = max(now_fs, block.arrival_fs)
        thread.until(at)
        self.first = thread.row_count
        self.start_fs = at + device.begin_core(thread, first=not self.started)
        self.started = True
        if block.task.kernel.cube is None:
            least_fs = device.rows.write(thread, self.place, self.done, block.task, block.block)
        else:
            self.context, least_fs = device.begin_coupled(self, block), 0
        thread.ask()
        device.agents.expect(thread, self.start_fs + least_fs)

    def _end(self, now_fs: int) -> None:
        """The kernel has ended: compute its numbers, tell the scheduler, go on with what waits.

        A function that runs coupled with those of other cores goes on until it waits for them again.
        """
        self.device.check_progress(self.assigned[0], self, now_fs)
        last = self.thread.row_count - 1
        if self.context is not None:
            if not self.context.resume():
                return
            self.context = None
            self.device.end_coupled(self.assigned[0])
        self.device.note_progress(now_fs)
        block = self.assigned.popleft()
        task = block.task
        if task.first_start_fs < 0 or self.start_fs < task.first_start_fs:
            task.first_start_fs = self.start_fs
        task.last_end_fs = now_fs
        ended = self.device.record.add_block(block, self.index, (self.start_fs, now_fs), (self.first, last))
        self.device.compute(block)
        self.fins.append((Cause(ended, now_fs, now_fs + self.device.settings.time.cond), block))
        if self.assigned:
            self._begin(now_fs)
        assert self.scheduler is not None
        self.scheduler.on_end(self)
