"""The verbs of locals and pipes that move data within the chip.

Offsets into another core's pipe follow the pointers that this kernel has for its own part: all parts have the same address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kernbench.program.ops import NONE

if TYPE_CHECKING:
    from kernbench.tanto.cores.storage import Core
    from kernbench.tanto.timing.dataflow_rows import DataflowRows
    from kernbench.tanto.timing.kernel_log import Row

HALF = 1 << 31


def as_signed(offset: int) -> int:
    """An offset of 32 bits that wrapped around below zero, as a negative number."""
    return offset - (1 << 32) if offset >= HALF else offset


class Mover(Protocol):
    """A kernel that moves data, or its script."""

    core: Core
    moves_to: object  # the part that has the context of moves

    @property
    def flow(self) -> DataflowRows:
        """Its log. Errors: TantoError in a math kernel."""
        ...

    def core_at(self, x: int, y: int) -> Core:
        """The core at a physical place, its own for a negative x. Errors: TantoError off the chip."""
        ...

    def find_cores(self, corners: tuple[int, ...], *, with_self: bool) -> Sequence[Core]:
        """The cores in a rectangle of physical places, whose corners come in either order, and how many are expected."""
        ...


class TransferVerbs(ABC):
    """What locals and pipes have in common."""

    mover: Mover
    _move_count: int | None = None
    _moved = (-1, -1)  # the kernel's reads and writes when the context of moves was last used

    # What running kernels and scripts supply

    @abstractmethod
    def part_on(self, core: Core) -> Any:
        """The part on a core. Errors: TantoError for a core outside its grid."""

    @abstractmethod
    def read_base(self) -> int:
        """The element that offsets of reading count from."""

    @abstractmethod
    def write_base(self) -> int:
        """The element that offsets of writing count from."""

    @abstractmethod
    def check_target(self, part: Any, offset: int, count: int) -> None:
        """Check that elements of a part may be written. Errors: TantoError."""

    def check_room(self, call: str, offset: int, count: int) -> None:  # noqa: B027
        """Check that elements are in the write frame of this kernel; locals have no frames."""

    def check_there(self, call: str, offset: int, count: int) -> None:  # noqa: B027
        """Check that elements of the read frame were waited for; locals have no frames."""

    @abstractmethod
    def lack_context(self, count: int | None) -> None:
        """`move_init` was not called, or something came since. Errors: TantoError where it was not."""

    def arrival(self, part: Any, first: int, count: int) -> int:  # noqa: ARG002
        """The counter of this kernel's writes that have arrived at a part, or NONE."""
        return NONE

    @abstractmethod
    def have_read(self, dst: int, src: Any, part: Any, src_offset: int, count: int) -> None:
        """The last row reads elements from a part."""

    @abstractmethod
    def have_written(self, base: int, src: int, dst: Any, parts: list[Any], at: int, count: int, row: Row) -> None:
        """A row writes elements, at an offset from a base, to an offset in parts."""

    # Methods of the language

    def _bytes_to(self, call: str, dst: int, count: int) -> int:
        """Check that elements on this core may be written. Returns their bytes."""
        part = self.part_on(self.mover.core)
        self.check_target(part, dst, count)
        self.check_room(call, dst, count)
        return part.fmt.bytes_of(count)

    def read_local(self, dst: int, src: Any, src_offset: int, count: int, x: int = -1, y: int = -1) -> None:
        """Read from a local or a pipe, of this core or another."""
        if not count:
            return
        core = self.mover.core_at(x, y)
        part, nbytes = src.part_on(core), self._bytes_to("read into", dst, count)
        if core == self.mover.core:
            src.check_there("read from", src_offset, count)
        self.mover.flow.read_core(core, nbytes)
        self.have_read(dst, src, part, src_offset, count)

    read_pipe = read_local

    def write_local(self, src: int, dst: Any, dst_offset: int, count: int, x: int = -1, y: int = -1) -> None:
        """Write to a local or a pipe, of this core or another."""
        if not count:
            return
        core, flow = self.mover.core_at(x, y), self.mover.flow
        part = dst.part_on(core)
        dst.check_target(part, dst_offset, count)
        if core == self.mover.core:
            dst.check_room("write into", dst_offset, count)
        self.check_there("write from", src, count)
        nbytes = self.part_on(self.mover.core).fmt.bytes_of(count)
        flow.write_core(core, nbytes, dst.arrival(part, dst_offset, count))
        self.have_written(self.read_base(), src, dst, [part], dst_offset, count, flow.last_row())

    write_pipe = write_local

    def write_mcast(self, src: int, dst: Any, dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores but this one."""
        self._multicast(src, dst, dst_offset, count, self.mover.find_cores(corners, with_self=False))

    def write_mcast_with_self(self, src: int, dst: Any, dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores."""
        self._multicast(src, dst, dst_offset, count, self.mover.find_cores(corners, with_self=True))

    def _multicast(self, src: int, dst: Any, dst_offset: int, count: int, cores: Sequence[Core]) -> None:
        parts = [dst.part_on(core) for core in cores]
        if not count:
            return
        for part in parts:
            dst.check_target(part, dst_offset, count)
        self.check_room("write_mcast from", src, count)
        arrive = tuple([dst.arrival(part, dst_offset, count) for part in parts])
        nbytes = self.part_on(self.mover.core).fmt.bytes_of(count)
        row = self.mover.flow.multicast(cores, nbytes, arrive)
        self.have_written(self.write_base(), src, dst, parts, dst_offset, count, row)

    def move_init(self, count: int) -> None:
        """Prepare moves of so many elements."""
        self._move_count = count
        self.mover.flow.begin_moves()
        self._keep_context()

    def _keep_context(self) -> None:
        mover, flow = self.mover, self.mover.flow
        mover.moves_to, self._moved = self.part_on(mover.core), (flow.reads, flow.writes)

    def move(self, dst: int, src: Any, src_offset: int) -> None:
        """Move elements within the core. Errors: TantoError before `move_init`."""
        count, mover, flow = self._move_count, self.mover, self.mover.flow
        if count == 0:
            return
        if mover.moves_to is not self.part_on(mover.core) or self._moved != (flow.reads, flow.writes):
            self.lack_context(count)
        assert count is not None
        nbytes, part = self._bytes_to("move into", dst, count), src.part_on(mover.core)
        src.check_there("move from", src_offset, count)
        flow.move(nbytes)
        self._keep_context()
        self.have_read(dst, src, part, src_offset, count)
