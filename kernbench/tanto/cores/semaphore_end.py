"""Semaphores as a kernel sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernbench.tanto.cores.storage import SemaphorePart

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun


class SemaphoreEnd:
    """A semaphore as a kernel sees it."""

    def __init__(self, run: GridRun, kernel: RunningKernel, part: SemaphorePart) -> None:
        self.run, self.kernel, self.part = run, kernel, part
        self.seen = 0  # the event that this kernel waited for, or made here, last

    def set(self, value: int) -> None:
        """Set the value on this core."""
        rows = self.kernel.flow
        rows.add(rows.change_form(self.part.counter))
        self.part.change(value, rows.last_row())
        self.seen = self.part.events

    def set_remote(self, src: SemaphoreEnd, x: int, y: int) -> None:
        """Set the value on another core to that of a semaphore here."""
        self._signal(x, y, lambda _: src.part.value)

    def inc(self, x: int, y: int, value: int) -> None:
        """Add to the value on a core."""
        self._signal(x, y, lambda part: part.value + value)

    def _signal(self, x: int, y: int, value: Callable[[SemaphorePart], int]) -> None:
        core, rows = self.run.find_core(self.kernel, x, y), self.kernel.flow
        part = self.run.semaphore_on(self.kernel, self.part.id, core)
        rows.signal(rows.signal_form(core, part.counter))
        part.change(value(part), rows.last_row())

    def set_mcast(self, src: SemaphoreEnd, *corners: int) -> None:
        """Set the values on all other cores of a rectangle to that of a semaphore here."""
        cores, rows = self.kernel.find_cores(corners, with_self=False), self.kernel.flow
        parts = [self.run.semaphore_on(self.kernel, self.part.id, core) for core in cores]
        rows.multicast_signal(cores, tuple([part.counter for part in parts]))
        for part in parts:
            part.change(src.part.value, rows.last_row())

    def wait(self, value: int) -> None:
        """Wait until the value on this core equals one.

        Where nothing else can go on, a value that it had and lost while the kernel was busy will do: on a chip it is seen if
        the kernel is there in time, which the times of the run tell.
        """
        part, kernel = self.part, self.kernel
        passed = False
        if part.value == value:
            event = part.since
        else:
            kernel.met_at = -1
            part.waiters.append((kernel, value))
            while kernel.met_at < 0 and not passed:
                kernel.pause(f"{part} to be {value} (is {part.value})", lenient=True)
                passed = kernel.released and kernel.met_at < 0 and part.passed(value, self.seen) >= 0
            event = part.passed(value, self.seen) if passed else kernel.met_at
            part.waiters = [waiter for waiter in part.waiters if waiter[0] is not kernel]
            kernel.released = False
        self.seen = max(self.seen, event)
        kernel.flow.add(kernel.flow.meet_form(part.counter), event)
        self.run.races.note_met(kernel, part, event, kernel.flow.last_row())
