"""The script of a kernel that moves data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernbench.tanto.cores.local_end import LocalEnd
from kernbench.tanto.cores.pipe_end import PipeEnd
from kernbench.tanto.cores.semaphore_end import SemaphoreEnd
from kernbench.tanto.cores.transfers import GlobalEnd
from kernbench.tanto.scripts.dataflow_ends import DataflowLocal, DataflowPipe, ScriptSemaphore
from kernbench.tanto.scripts.script import Script, Unscripted

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.storage import Core


class DataflowScript(Script):
    """The script of a reader or writer, on its own core.

    Where reads go to is only noted where it has to be: in a script that follows them, which few kernels need.
    """

    def __init__(self, kernel: RunningKernel, *, follows_reads: bool = False) -> None:
        super().__init__(kernel)
        self.flow, self.follows_reads = kernel.flow, follows_reads
        self.settled_reads = 0  # before the last barrier
        self.pending: list[tuple[tuple[str, int], int, int]] = []  # reads since the last barrier: to what, first, count
        self.writes_pending = set[tuple[str, int]]()  # from what, since the last barrier
        # What it writes to on other cores; and pipes that it pushes without a read or wait for a semaphore before, and locals
        # that it copies.
        self.far, self.unasked = set[tuple[str, int, "Core"]](), set[tuple[str, int]]()
        self.moves_to: object = None  # the part that has the context of moves
        self.rectangles: dict[tuple[tuple[int, ...], bool], tuple[Core, ...]] = {}
        self.meetings: list[int] = []  # entries whose values are known when kernels have met

    def end_of(self, given: Any) -> Any:
        if isinstance(given, PipeEnd):
            return DataflowPipe(self, given.part)
        if isinstance(given, LocalEnd):
            return DataflowLocal(self, given.id)
        if isinstance(given, SemaphoreEnd):
            return ScriptSemaphore(self, given.part)
        return given.part if isinstance(given, GlobalEnd) else given

    # Functions of the language

    def read_barrier(self) -> None:
        """Wait for all reads."""
        self.pending.clear()
        self.settled_reads = self.flow.reads
        self.flow.read_barrier()

    def write_barrier(self) -> None:
        """Wait for all writes."""
        self.writes_pending.clear()
        self.flow.write_barrier()

    # Cores

    def find_core(self, x: int, y: int) -> Core:
        """The core at a physical place. Errors: Unscripted off the chip."""
        found = self.run.places.logical((x, y))
        if found is None:
            raise Unscripted
        return found

    def core_at(self, x: int, y: int) -> Core:
        """The core at a physical place, or this one for a negative x. Errors: Unscripted off the chip."""
        return self.core if x < 0 else self.find_core(x, y)

    def find_cores(self, corners: tuple[int, ...], *, with_self: bool) -> tuple[Core, ...]:
        """The cores in a rectangle of physical places, as many as are named or more. Errors: Unscripted."""
        found = self.rectangles.get((corners, with_self))
        if found is None:
            found = tuple(self.run.find_cores(self.kernel, corners, with_self=with_self))
            self.rectangles[corners, with_self] = found
        if corners[4] > len(found) or corners[4] < len(found) - (self.core in found):
            raise Unscripted  # acknowledgements that nobody sends, or that nobody waits for
        return found
