"""Local buffers as a kernel sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import NONE
from kernbench.tanto.cores.polling import polled
from kernbench.tanto.cores.storage import Arrival, Core, LocalPart
from kernbench.tanto.cores.transfers import CopyEnd, fitting
from kernbench.tanto.verbs.transfers import as_signed

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.language.types import Scalar
    from kernbench.tanto.timing.kernel_log import Row


class LocalEnd(CopyEnd[LocalPart]):
    """A local buffer as a kernel sees it. A core outside of its grid has no part of it, but reaches those of other cores."""

    def __init__(
        self, run: GridRun, kernel: RunningKernel, id: int, part: LocalPart | None, element: Scalar | None
    ) -> None:
        self.begin(run, kernel, element)
        self.id, self._own = id, part

    @property
    def part(self) -> LocalPart:
        """The part on this core. Errors: TantoError where the core is outside of the grid."""
        return self._own or self.part_on(self.kernel.core)

    def get(self, index: int) -> int | float:
        """The element at an index; a kernel that reads nothing else polls, and waits for the element to change."""
        return polled(self, index, super().get(index))

    def set(self, index: int, value: int | float) -> None:
        """Set the element at an index."""
        is_seen = self.part.lookers and self.part.lookers != {self.kernel}
        if is_seen:
            self.kernel.flow.add_arrival(self.arrival(self.part, index, 1))
        super().set(index, value)
        if is_seen:
            self.arrived(self.part, self.kernel.flow.last_row())

    def arrival(self, part: LocalPart, first: int, count: int) -> int:
        """The counter of this kernel's writes that have arrived at a part, NONE where no kernel looks at elements."""
        if not part.lookers:
            return NONE
        counter, value = self.kernel.arrivals.get(part, (NONE, 0))
        if counter == NONE:
            x, y = part.core
            counter = self.run.lowering.program.counter(f"writes of the {self.kernel} to {part} on core {x},{y}")
        self.kernel.arrivals[part] = counter, value + 1
        part.note_arrival(Arrival(first, first + count, self.kernel, counter, value + 1))
        return counter

    def note_far(self, part: LocalPart, offset: int, count: int, row: Row) -> None:
        part.note_far(offset, offset + count, row)

    def arrived(self, part: LocalPart, row: Row) -> None:
        if part.lookers:
            part.complete_arrival(row)

    def read_base(self) -> int:
        """0: locals have no frames."""
        return 0

    write_base = read_base

    def part_on(self, core: Core) -> LocalPart:
        """The part on another core."""
        return self.run.local_on(self.kernel, self.id, core)

    def take(self, part: LocalPart, base: int, offset: int, count: int) -> np.ndarray:  # noqa: ARG002
        """Elements, zero outside."""
        first = as_signed(offset)
        if first >= 0 and first + count <= part.size:
            return part.data[first : first + count]
        return self.run.take_partly(self.kernel, part, first, count)

    def check_target(self, part: LocalPart, offset: int, count: int) -> None:
        self.check_count(part.size, offset, count)

    def put(self, part: LocalPart, base: int, offset: int, values: np.ndarray) -> None:  # noqa: ARG002
        """Write elements."""
        self.check_count(part.size, offset, len(values))
        part.data[offset : offset + len(values)] = fitting(values, part.data.dtype)
        if part.pollers:
            part.changed()
        for pipe in self.run.pipes_over(part):
            pipe.forget_bytes(part.fmt.bytes_of(offset), part.fmt.bytes_of(len(values)))
