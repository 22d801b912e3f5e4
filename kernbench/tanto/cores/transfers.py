"""Reading, writing, multicast and moves between buffers as a kernel sees them, with the numbers moved at once.

Offsets into another core's pipe follow the pointers that this kernel has for its own part: all parts have the same address.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from kernbench.program.ops import NONE
from kernbench.tanto.cores.storage import Core, GlobalBuffer, LocalPart, PipePart
from kernbench.tanto.language.types import UINT32, Scalar, wrap_value

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.timing.kernel_log import Row

HALF = 1 << 31
Part = TypeVar("Part", LocalPart, PipePart)


def as_signed(offset: int) -> int:
    """An offset of 32 bits that wrapped around below zero, as a negative number."""
    return offset - (1 << 32) if offset >= HALF else offset


class GlobalEnd:
    """A global buffer as a kernel sees it."""

    def __init__(self, run: GridRun, kernel: RunningKernel, buffer: GlobalBuffer) -> None:
        self.run, self.kernel, self.part = run, kernel, buffer

    def take(self, offset: int, count: int) -> np.ndarray:
        """Elements of the buffer, zero outside of it, which is reported once for each place."""
        part, first = self.part, as_signed(offset)
        if first >= 0 and first + count <= part.size:
            return part.data[first : first + count]
        return self.run.take_partly(self.kernel, part, first, count)

    def put(self, offset: int, values: np.ndarray) -> None:
        """Write elements. Errors: TantoError outside of the buffer."""
        part, first, count = self.part, as_signed(offset), len(values)
        if first < 0 or first + count > part.size:
            raise self.kernel.error(
                f"writes elements {first} to {first + count - 1} of {part}, which has {part.size:,} elements"
            )
        part.data[first : first + count] = fitting(values, part.data.dtype)


def fitting(values: np.ndarray, to: np.dtype) -> np.ndarray:
    """The bytes of elements as elements of another type."""
    return values if values.dtype == to else np.ascontiguousarray(values).view(to)


class CopyEnd(ABC, Generic[Part]):
    """What locals and pipes have in common."""

    def __init__(self, run: GridRun, kernel: RunningKernel, element: Scalar | None) -> None:
        self.run, self.kernel = run, kernel
        self.element = element
        self._move_count: int | None = None
        self._moved = (-1, -1)  # the kernel's reads and writes when the context of moves was last used

    # What the two kinds supply

    @property
    @abstractmethod
    def part(self) -> Part:
        """The part on this core. Errors: TantoError where the core is outside of the grid."""

    @abstractmethod
    def read_base(self) -> int:
        """The element that offsets of reading count from."""

    @abstractmethod
    def write_base(self) -> int:
        """The element that offsets of writing count from."""

    @abstractmethod
    def part_on(self, core: Core) -> Part:
        """The part of the same object on another core. Errors: TantoError for a core outside its grid."""

    @abstractmethod
    def take(self, part: Part, base: int, offset: int, count: int) -> np.ndarray:
        """Elements of a part, zero outside of it."""

    @abstractmethod
    def put(self, part: Part, base: int, offset: int, values: np.ndarray) -> None:
        """Write elements to a part. Errors: TantoError outside of it."""

    @abstractmethod
    def check_target(self, part: Part, offset: int, count: int) -> None:
        """Check that elements may be written. Errors: TantoError."""

    def check_room(self, call: str, offset: int, count: int) -> None:
        """Warn of elements that are written to no frame of this kernel."""

    def check_there(self, call: str, offset: int, count: int) -> None:
        """Warn of elements that were not waited for, and let them come if they will."""

    @abstractmethod
    def note_far(self, part: Part, offset: int, count: int, row: Row) -> None:
        """Note a transfer to elements of another core's part."""

    def multicast_base(self) -> int:
        """The element that offsets of `write_mcast` count from."""
        return self.write_base()

    # Elements

    def check_count(self, size: int, offset: int, count: int) -> None:
        """Check that elements are inside of a part of a size. Errors: TantoError."""
        if offset + count > size or offset < 0:
            first = as_signed(offset)
            raise self.kernel.error(
                f"writes elements {first} to {first + count - 1} of {self.part}, which has {size:,} elements"
            )

    def arrival(self, part: Part, first: int, count: int) -> int:  # noqa: ARG002
        """The counter of this kernel's writes that have arrived at a part, or NONE."""
        return NONE

    def arrived(self, part: Part, row: Row) -> None:
        """The elements of the write by `arrival` are there; a row brings them in time."""

    def get(self, index: int) -> int | float:
        """The element at an index."""
        self.kernel.rows.load()
        self.run.races.note_get(self.kernel, self.part, self.read_base() + index)
        return self.element_at(index)

    def element_at(self, index: int) -> int | float:
        """The element at an index, without the time that it takes."""
        return self.element_of(self.take(self.part, self.read_base(), index, 1))

    def element_of(self, stored: np.ndarray) -> int | float:
        """The first of elements as they are stored."""
        part, storage = self.part, self.part.fmt.storage
        if self.element is not None and self.element.kind == "float":
            return float(part.fmt.to_float(stored)[0])
        value = stored[0]
        if storage.kind == "f":
            return int(stored.view(f"u{storage.itemsize}")[0]) if self._takes_bits() else int(value)
        return wrap_value(int(value), self.element or UINT32)

    def set(self, index: int, value: int | float) -> None:
        """Set the element at an index."""
        part, storage = self.part, self.part.fmt.storage
        self.kernel.rows.store()
        if isinstance(value, float):
            stored = part.fmt.from_float(np.array([value], np.float32), nearest=self.run.nearest)
        elif storage.kind == "f":
            stored = (
                np.array([value], np.uint64).astype(f"u{storage.itemsize}").view(storage)
                if self._takes_bits()
                else np.array([value], storage)
            )
        else:
            stored = (
                np.array([value & ((1 << 8 * storage.itemsize) - 1)], np.uint64)
                .astype(f"u{storage.itemsize}")
                .view(storage)
            )
        self.check_room("set of", index, 1)
        self.put(part, self.write_base(), index, stored)
        self.run.races.note_reuse(self.kernel, part, self.write_base() + index, 1, self.kernel.rows.last_row())

    def _takes_bits(self) -> bool:
        return self.element is not None and self.element.kind == "int"

    # Transfers

    def read_global(self, dst: int, src: GlobalEnd, src_offset: int, count: int) -> None:
        """Read from DRAM."""
        if count == 0:
            return
        self.check_room("read into", dst, count)
        flow = self.kernel.flow
        flow.read_dram(src.part, as_signed(src_offset), count)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, flow.last_row())
        self.check_target(self.part, dst, count)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(src_offset, count))

    def write_global(self, src: int, dst: GlobalEnd, dst_offset: int, count: int) -> None:
        """Write to DRAM."""
        if count == 0:
            return
        first = as_signed(dst_offset)
        if first < 0 or first + count > dst.part.size:
            dst.put(dst_offset, np.empty(min(count, dst.part.size + 1), dst.part.data.dtype))
        self.check_there("write from", src, count)
        flow = self.kernel.flow
        flow.write_dram(dst.part, first, count)
        self.run.races.note_write(self.kernel, self.part, self.read_base() + src, count, flow.last_row())
        if self.run.numbers:
            dst.put(dst_offset, self.take(self.part, self.read_base(), src, count))

    def read_local(self, dst: int, src: CopyEnd[Any], src_offset: int, count: int, x: int = -1, y: int = -1) -> None:
        """Read from a local or a pipe, of this core or another."""
        if count == 0:
            return
        core = self.kernel.core if x < 0 else self.run.find_core(self.kernel, x, y)
        part = src.part if core == self.kernel.core else src.part_on(core)
        self.check_target(self.part, dst, count)
        self.check_room("read into", dst, count)
        if core == self.kernel.core:
            src.check_there("read from", src_offset, count)
        self.kernel.flow.read_core(core, self.part.fmt.bytes_of(count))
        row = self.kernel.flow.last_row()
        if core == self.kernel.core:
            self.run.races.note_source(self.kernel, part, src.read_base() + src_offset, count, row)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, row)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(part, src.read_base(), src_offset, count))

    read_pipe = read_local

    def write_local(self, src: int, dst: CopyEnd[Any], dst_offset: int, count: int, x: int = -1, y: int = -1) -> None:
        """Write to a local or a pipe, of this core or another."""
        if count == 0:
            return
        core = self.kernel.core if x < 0 else self.run.find_core(self.kernel, x, y)
        part = dst.part if core == self.kernel.core else dst.part_on(core)
        dst.check_target(part, dst_offset, count)
        if core == self.kernel.core:
            dst.check_room("write into", dst_offset, count)
        self.check_there("write from", src, count)
        self.kernel.flow.write_core(core, self.part.fmt.bytes_of(count), dst.arrival(part, dst_offset, count))
        row = self.kernel.flow.last_row()
        self.run.races.note_write(self.kernel, self.part, self.read_base() + src, count, row)
        if core != self.kernel.core:
            dst.note_far(part, dst_offset, count, row)
        if self.run.numbers:
            dst.put(part, dst.write_base(), dst_offset, self.take(self.part, self.read_base(), src, count))
            dst.arrived(part, row)

    write_pipe = write_local

    def write_mcast(self, src: int, dst: CopyEnd[Any], dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores but this one."""
        self._multicast(src, dst, dst_offset, count, corners, with_self=False)

    def write_mcast_with_self(self, src: int, dst: CopyEnd[Any], dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores."""
        self._multicast(src, dst, dst_offset, count, corners, with_self=True)

    def _multicast(
        self, src: int, dst: CopyEnd[Any], dst_offset: int, count: int, corners: tuple[int, ...], *, with_self: bool
    ) -> None:
        cores = self.run.find_cores(self.kernel, corners, with_self=with_self)
        parts = [dst.part_on(core) for core in cores]
        self.run.expect(self.kernel, corners[4], cores)
        if count == 0:
            return
        for part in parts:
            dst.check_target(part, dst_offset, count)
        self.check_room("write_mcast from", src, count)
        arrive = tuple([dst.arrival(part, dst_offset, count) for part in parts])
        row = self.kernel.flow.multicast(tuple(cores), self.part.fmt.bytes_of(count), arrive)
        self.run.races.note_write(self.kernel, self.part, self.multicast_base() + src, count, row)
        for part in parts:
            if part.core != self.kernel.core:
                dst.note_far(part, dst_offset, count, row)
        if self.run.numbers and parts:
            values = self.take(self.part, self.multicast_base(), src, count).copy()
            for part in parts:
                dst.put(part, dst.write_base(), dst_offset, values)
                dst.arrived(part, row)

    def move_init(self, count: int) -> None:
        """Prepare moves of so many elements."""
        self._move_count = count
        self.kernel.flow.begin_moves()
        self._keep_context()

    def _keep_context(self) -> None:
        flow = self.kernel.flow
        self.kernel.moves_to, self._moved = self.part, (flow.reads, flow.writes)

    def move(self, dst: int, src: CopyEnd[Any], src_offset: int) -> None:
        """Move elements within the core. Errors: TantoError before `move_init`."""
        count = self._move_count
        if count is None:
            raise self.kernel.error(
                f"move of {self.part} without move_init before; call move_init with the number of elements"
            )
        if count == 0:
            return
        self.check_target(self.part, dst, count)
        flow = self.kernel.flow
        if self.kernel.moves_to is not self.part or self._moved != (flow.reads, flow.writes):
            self.kernel.warn(
                f"move to {self.part} after a transfer or move_init that ended its context; call move_init again"
            )
        self.check_room("move into", dst, count)
        src.check_there("move from", src_offset, count)
        flow.move(self.part.fmt.bytes_of(count))
        row = flow.last_row()
        self._keep_context()
        self.run.races.note_source(self.kernel, src.part, src.read_base() + src_offset, count, row)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, row)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(src.part, src.read_base(), src_offset, count))
