"""Semaphores as a kernel sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.tanto.cores.storage import SemaphorePart

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun


class SemaphoreEnd:
    """A semaphore as a kernel sees it."""

    def __init__(self, run: GridRun, kernel: RunningKernel, part: SemaphorePart) -> None:
        self.run, self.kernel, self.part, self.rows = run, kernel, part, kernel.flow

    def set(self, value: int) -> None:
        """Set the value on this core."""
        self.rows.set_semaphore(self.kernel.c, self.part)
        self.part.change(value)

    def set_remote(self, src: SemaphoreEnd, x: int, y: int) -> None:
        """Set the value on another core to that of a semaphore here."""
        core = self.run.find_core(self.kernel, x, y)
        part = self.run.semaphore_on(self.kernel, self.part.id, core)
        self.rows.signal(self.kernel.c, core, part)
        part.change(src.part.value)

    def set_mcast(self, src: SemaphoreEnd, *corners: int) -> None:
        """Set the values on all other cores of a rectangle to that of a semaphore here."""
        cores = self.run.find_cores(self.kernel, corners, with_self=False)
        parts = [self.run.semaphore_on(self.kernel, self.part.id, core) for core in cores]
        self.run.expect(self.kernel, corners[4], len(cores))
        self.rows.multicast_signal(self.kernel.c, cores, parts)
        for part in parts:
            part.change(src.part.value)

    def inc(self, x: int, y: int, value: int) -> None:
        """Add to the value on a core."""
        core = self.run.find_core(self.kernel, x, y)
        part = self.run.semaphore_on(self.kernel, self.part.id, core)
        self.rows.signal(self.kernel.c, core, part)
        part.change(part.value + value)

    def wait(self, value: int) -> None:
        """Wait until the value on this core equals one."""
        part, kernel = self.part, self.kernel
        if part.value == value:
            event = part.since
        else:
            kernel.met_at = -1
            part.waiters.append((kernel, value))
            while kernel.met_at < 0:
                kernel.pause(f"{part} to be {value} (is {part.value})")
            event = kernel.met_at
        self.rows.wait_semaphore(kernel.c, part, event)
