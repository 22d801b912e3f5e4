"""Global buffers, and what locals and pipes have in common, as a running kernel sees them: numbers move at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from kernbench.tanto.cores.storage import GlobalBuffer, LocalPart, PipePart
from kernbench.tanto.language.types import UINT32, Scalar, wrap_value
from kernbench.tanto.verbs.transfers import TransferVerbs, as_signed

if TYPE_CHECKING:
    from kernbench.tanto.cores.calls import RunningKernel
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.timing.kernel_log import Row

ObjectPart = TypeVar("ObjectPart", LocalPart, PipePart)


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


class CopyEnd(TransferVerbs, Generic[ObjectPart]):
    """What locals and pipes have in common."""

    def begin(self, run: GridRun, kernel: RunningKernel, element: Scalar | None) -> None:
        """Give it to a kernel, which sees elements of a type."""
        self.run, self.kernel, self.mover = run, kernel, kernel
        self.element = element

    # What the two kinds supply

    @property
    @abstractmethod
    def part(self) -> ObjectPart:
        """The part on this core. Errors: TantoError where the core is outside of the grid."""

    @abstractmethod
    def take(self, part: ObjectPart, base: int, offset: int, count: int) -> np.ndarray:
        """Elements of a part, zero outside of it."""

    @abstractmethod
    def put(self, part: ObjectPart, base: int, offset: int, values: np.ndarray) -> None:
        """Write elements to a part. Errors: TantoError outside of it."""

    @abstractmethod
    def note_far(self, part: ObjectPart, offset: int, count: int, row: Row) -> None:
        """Note a transfer to elements of another core's part."""

    # Elements

    def check_count(self, size: int, offset: int, count: int) -> None:
        """Check that elements are inside of a part of a size. Errors: TantoError."""
        if offset + count > size or offset < 0:
            first = as_signed(offset)
            raise self.kernel.error(
                f"writes elements {first} to {first + count - 1} of {self.part}, which has {size:,} elements"
            )

    def arrived(self, part: ObjectPart, row: Row) -> None:
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

    # Transfers within the chip

    def lack_context(self, count: int | None) -> None:
        if count is None:
            raise self.kernel.error(
                f"move of {self.part} without move_init before; call move_init with the number of elements"
            )
        self.kernel.warn(
            f"move to {self.part} after a transfer or move_init that ended its context; call move_init again"
        )

    def have_read(self, dst: int, src: CopyEnd[Any], part: Any, src_offset: int, count: int) -> None:
        row = self.kernel.flow.last_row()
        if part.core == self.kernel.core:
            self.run.races.note_source(self.kernel, part, src.read_base() + src_offset, count, row)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, row)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(part, src.read_base(), src_offset, count))

    def have_written(
        self, base: int, src: int, dst: CopyEnd[Any], parts: list[Any], at: int, count: int, row: Row
    ) -> None:
        self.run.races.note_write(self.kernel, self.part, base + src, count, row)
        for part in parts:
            if part.core != self.kernel.core:
                dst.note_far(part, at, count, row)
        if not self.run.numbers or not parts:
            return
        values = self.take(self.part, base, src, count)
        if len(parts) > 1:
            values = values.copy()
        for part in parts:
            dst.put(part, dst.write_base(), at, values)
            dst.arrived(part, row)
