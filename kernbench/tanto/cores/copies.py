"""Locals and pipes as a kernel sees them: reading, writing, multicast and moves, with the numbers moved at once.

A pipe's own pointers belong to the kernel: where it reads, where it writes, and how large its frames are. Offsets into another
core's pipe follow the pointers that this kernel has for its own part, since all parts have the same address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.tanto.cores.storage import Core, GlobalBuffer, LocalPart, PipePart, SemaphorePart, ring_pieces
from kernbench.tanto.language.types import M32, Scalar
from kernbench.tanto.tiles import TILE

if TYPE_CHECKING:
    from kernbench.tanto.cores.grid_run import GridRun
    from kernbench.tanto.cores.kernel import Kernel

_HALF = 1 << 31


def as_signed(offset: int) -> int:
    """An offset of 32 bits that wrapped around below zero, as a negative number."""
    return offset - (1 << 32) if offset >= _HALF else offset


class GlobalEnd:
    """A global buffer as a kernel sees it."""

    def __init__(self, run: GridRun, kernel: Kernel, buffer: GlobalBuffer) -> None:
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


class CopyEnd:
    """What locals and pipes have in common."""

    part: Any

    def __init__(self, run: GridRun, kernel: Kernel, element: Scalar | None) -> None:
        self.run, self.kernel, self.rows = run, kernel, kernel.rows
        self.element = element
        self._move_count: int | None = None

    # What the two kinds supply

    def read_base(self) -> int:
        """The element that offsets of reading count from."""
        raise NotImplementedError

    def write_base(self) -> int:
        """The element that offsets of writing count from."""
        raise NotImplementedError

    def part_on(self, core: Core) -> Any:
        """The part of the same object on another core. Errors: TantoError for a core outside its grid."""
        raise NotImplementedError

    def multicast_base(self) -> int:
        """The element that offsets of `write_mcast` count from."""
        return self.write_base()

    # Elements

    def take(self, part: Any, base: int, offset: int, count: int) -> np.ndarray:
        """Elements of a part, zero outside of it."""
        raise NotImplementedError

    def put(self, part: Any, base: int, offset: int, values: np.ndarray) -> None:
        """Write elements to a part. Errors: TantoError outside of it."""
        raise NotImplementedError

    def _check_count(self, size: int, offset: int, count: int) -> None:
        first = as_signed(offset)
        if first < 0 or first + count > size:
            raise self.kernel.error(
                f"writes elements {first} to {first + count - 1} of {self.part}, which has {size:,} elements"
            )

    def get(self, index: int) -> int | float:
        """The element at an index, once it is there."""
        part, base = self.part, self.read_base()
        self.rows.load(self.kernel.c)
        self.run.races.note_get(self.kernel, part, base + index)
        stored = self.take(part, base, index, 1)
        if self.element is not None and self.element.kind == "float":
            return float(part.fmt.to_float(stored)[0])
        value = stored[0]
        if part.fmt.storage.kind == "f":
            return int(stored.view(f"u{part.fmt.bytes}")[0]) if self._takes_bits() else int(value)
        return int(value) & (self.element.mask if self.element else M32)

    def set(self, index: int, value: int | float) -> None:
        """Set the element at an index."""
        part, storage = self.part, self.part.fmt.storage
        self.rows.load(self.kernel.c)
        if isinstance(value, float):
            stored = part.fmt.from_float(np.array([value], np.float32), nearest=self.run.nearest)
        elif storage.kind == "f":
            stored = (
                np.array([value], np.uint64).astype(f"u{part.fmt.bytes}").view(storage)
                if self._takes_bits()
                else np.array([value], storage)
            )
        else:
            stored = (
                np.array([value & ((1 << 8 * part.fmt.bytes) - 1)], np.uint64)
                .astype(f"u{part.fmt.bytes}")
                .view(storage)
            )
        self.put(part, self.write_base(), index, stored)

    def _takes_bits(self) -> bool:
        return self.element is not None and self.element.kind == "int"

    # Transfers

    def read_global(self, dst: int, src: GlobalEnd, src_offset: int, count: int) -> None:
        """Read from DRAM."""
        if count == 0:
            return
        row = self.rows.read_dram(self.kernel.c, src.part, as_signed(src_offset), count)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, row)
        self._check_target(self.part, dst, count)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(src_offset, count))

    def write_global(self, src: int, dst: GlobalEnd, dst_offset: int, count: int) -> None:
        """Write to DRAM."""
        if count == 0:
            return
        first = as_signed(dst_offset)
        if first < 0 or first + count > dst.part.size:
            dst.put(dst_offset, np.empty(min(count, dst.part.size + 1), dst.part.data.dtype))
        self.rows.write_dram(self.kernel.c, dst.part, first, count)
        if self.run.numbers:
            dst.put(dst_offset, self.take(self.part, self.read_base(), src, count))

    def read_local(self, dst: int, src: CopyEnd, src_offset: int, count: int, x: int = -1, y: int = -1) -> None:
        """Read from a local or a pipe, of this core or another."""
        if count == 0:
            return
        core = self.kernel.core if x < 0 else self.run.find_core(self.kernel, x, y)
        part = src.part if core == self.kernel.core else src.part_on(core)
        self._check_target(self.part, dst, count)
        row = self.rows.read_core(self.kernel.c, core, count * self.part.fmt.bytes)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, row)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(part, src.read_base(), src_offset, count))

    read_pipe = read_local

    def write_local(self, src: int, dst: CopyEnd, dst_offset: int, count: int, x: int = -1, y: int = -1) -> None:
        """Write to a local or a pipe, of this core or another."""
        if count == 0:
            return
        core = self.kernel.core if x < 0 else self.run.find_core(self.kernel, x, y)
        part = dst.part if core == self.kernel.core else dst.part_on(core)
        dst._check_target(part, dst_offset, count)
        self.rows.write_core(self.kernel.c, core, count * self.part.fmt.bytes)
        if self.run.numbers:
            dst.put(part, dst.write_base(), dst_offset, self.take(self.part, self.read_base(), src, count))

    write_pipe = write_local

    def write_mcast(self, src: int, dst: CopyEnd, dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores but this one."""
        self._multicast(src, dst, dst_offset, count, corners, with_self=False)

    def write_mcast_with_self(self, src: int, dst: CopyEnd, dst_offset: int, count: int, *corners: int) -> None:
        """Write to all parts in a rectangle of cores."""
        self._multicast(src, dst, dst_offset, count, corners, with_self=True)

    def _multicast(
        self, src: int, dst: CopyEnd, dst_offset: int, count: int, corners: tuple[int, ...], *, with_self: bool
    ) -> None:
        cores = self.run.find_cores(self.kernel, corners, with_self=with_self)
        parts = [dst.part_on(core) for core in cores]
        self.run.expect(self.kernel, corners[4], len(cores))
        if count == 0:
            return
        for part in parts:
            dst._check_target(part, dst_offset, count)
        self.rows.multicast(self.kernel.c, cores, count * self.part.fmt.bytes)
        if self.run.numbers and parts:
            values = self.take(self.part, self.multicast_base(), src, count).copy()
            for part in parts:
                dst.put(part, dst.write_base(), dst_offset, values)

    def move_init(self, count: int) -> None:
        """Prepare moves of so many elements."""
        self._move_count = count
        self.rows.begin_moves(self.kernel.c)

    def move(self, dst: int, src: CopyEnd, src_offset: int) -> None:
        """Move elements within the core. Errors: TantoError before `move_init`."""
        count = self._move_count
        if count is None:
            raise self.kernel.error(
                f"move of {self.part} without move_init before; call move_init with the number of elements"
            )
        if count == 0:
            return
        self._check_target(self.part, dst, count)
        row = self.rows.move(self.kernel.c, count * self.part.fmt.bytes)
        self.run.races.note_read(self.kernel, self.part, self.write_base() + dst, count, row)
        if self.run.numbers:
            self.put(self.part, self.write_base(), dst, src.take(src.part, src.read_base(), src_offset, count))

    def _check_target(self, part: Any, offset: int, count: int) -> None:
        raise NotImplementedError


class LocalEnd(CopyEnd):
    """A local buffer as a kernel sees it."""

    def __init__(self, run: GridRun, kernel: Kernel, part: LocalPart, element: Scalar | None) -> None:
        super().__init__(run, kernel, element)
        self.part = part

    def read_base(self) -> int:
        """0: locals have no frames."""
        return 0

    write_base = read_base

    def part_on(self, core: Core) -> LocalPart:
        """The part on another core."""
        return self.run.local_on(self.kernel, self.part.id, core)

    def take(self, part: LocalPart, base: int, offset: int, count: int) -> np.ndarray:  # noqa: ARG002
        """Elements, zero outside."""
        first = as_signed(offset)
        if first >= 0 and first + count <= part.size:
            return part.data[first : first + count]
        return self.run.take_partly(self.kernel, part, first, count)

    def _check_target(self, part: LocalPart, offset: int, count: int) -> None:
        self._check_count(part.size, offset, count)

    def put(self, part: LocalPart, base: int, offset: int, values: np.ndarray) -> None:  # noqa: ARG002
        """Write elements."""
        self._check_count(part.size, offset, len(values))
        part.data[offset : offset + len(values)] = fitting(values, part.data.dtype)
        for pipe in self.run.pipes_over(part):
            pipe.forget(offset, len(values))


class PipeEnd(CopyEnd):
    """A pipe as a kernel sees it: its frame, the tiles it read and wrote, and where it packs next."""

    def __init__(self, run: GridRun, kernel: Kernel, part: PipePart, element: Scalar | None) -> None:
        super().__init__(run, kernel, element)
        self.part = part
        self.frame = part.frame or part.tiles
        self.read_tiles = self.written_tiles = 0  # that this kernel popped and pushed
        self.packed = 0  # tiles of the write frame
        self.waited = 0  # tiles, counted from the first, that this kernel knows to be there

    def _uses(self, *, writes: bool) -> None:
        """Check that the kind of the pipe lets this kernel read or write it."""
        kind, is_math = self.part.kind, self.kernel.is_math
        wrong = (kind == 2) != is_math if kind == 2 else is_math and writes == (kind == 0)
        if wrong:
            kinds = ("an input", "an output", "an intermediate")
            who, does = ("a math" if is_math else "a dataflow"), ("write" if writes else "read")
            raise self.kernel.error(f"{self.part} is {kinds[kind]} pipe, which {who} kernel does not {does}")

    def set_frame(self, tiles: int) -> None:
        """Set the frame. Errors: TantoError for one larger than the pipe."""
        if tiles > self.part.tiles:
            raise self.kernel.error(f"a frame of {tiles} tiles for {self.part}, which has {self.part.tiles}")
        self.frame = tiles

    def reserve_back(self) -> None:
        """Wait for room for a frame."""
        self._uses(writes=True)
        part, kernel = self.part, self.kernel
        while part.pushed - part.popped + self.frame > part.tiles:
            kernel.block(
                part.waiters,
                f"room for {self.frame} tiles in {part} ({part.pushed - part.popped} of {part.tiles} are taken)",
            )
        self.packed = 0
        self.rows.wait_room(kernel.c, part, part.pushed + self.frame - part.tiles)

    def push_back(self) -> None:
        """Give the frame to readers."""
        self._uses(writes=True)
        part = self.part
        thread, row = self.rows.push(self.kernel.c, part, self.frame)
        self.run.races.note_push(self.kernel, part, self.written_tiles, self.frame, (thread, row))
        part.pushed += self.frame
        part.pushes.append((part.pushed, thread, row))
        self.written_tiles += self.frame
        self.packed = 0
        self._wake()

    def wait_front(self) -> None:
        """Wait for a frame of data."""
        self._uses(writes=False)
        part, kernel = self.part, self.kernel
        while part.pushed - part.popped < self.frame:
            kernel.block(part.waiters, f"{self.frame} tiles of {part} ({part.pushed - part.popped} are there)")
        self.waited = max(self.waited, part.popped + self.frame)
        self.rows.wait_tiles(kernel.c, part, part.popped + self.frame)

    def pop_front(self) -> None:
        """Give the frame back to writers."""
        self._uses(writes=False)
        part, kernel = self.part, self.kernel
        while part.pushed - part.popped < self.frame and not kernel.released:
            kernel.block(part.waiters, f"{self.frame} tiles of {part} to pop", lenient=True)
        kernel.released = False
        part.popped = min(part.popped + self.frame, part.pushed)
        self.read_tiles += self.frame
        self.waited = max(self.waited, self.read_tiles)
        self.rows.pop(kernel.c, part, self.frame)
        self._wake()

    def _wake(self) -> None:
        waiters = self.part.waiters
        if waiters:
            self.part.waiters = []
            for kernel in waiters:
                kernel.wake()

    def read_base(self) -> int:
        """The first element of the read frame."""
        return self.read_tiles % self.part.tiles * TILE

    def write_base(self) -> int:
        """The first element of the write frame."""
        return self.written_tiles % self.part.tiles * TILE

    def part_on(self, core: Core) -> PipePart:
        """The part on another core."""
        return self.run.pipe_on(self.kernel, self.part.id, core)

    def take(self, part: PipePart, base: int, offset: int, count: int) -> np.ndarray:
        """Elements from an element of the ring on, zero beyond its size."""
        size, first = part.tiles * TILE, as_signed(offset)
        if first < 0 or first + count > size:
            return self.run.take_partly(self.kernel, part, first, count, base)
        pieces = ring_pieces(base + first, count, size)
        if len(pieces) == 1:
            at = pieces[0][0]
            return part.data[at : at + count]
        return np.concatenate([part.data[at : at + n] for at, n in pieces])

    def _check_target(self, part: PipePart, offset: int, count: int) -> None:
        self._uses(writes=True)
        self._check_count(part.tiles * TILE, offset, count)

    def put(self, part: PipePart, base: int, offset: int, values: np.ndarray) -> None:
        """Write elements from an element of the ring on."""
        self._check_count(part.tiles * TILE, offset, len(values))
        values, done = fitting(values, part.data.dtype), 0
        for at, n in ring_pieces(base + offset, len(values), part.tiles * TILE):
            part.data[at : at + n] = values[done : done + n]
            part.forget(at, n)
            done += n


class SemaphoreEnd:
    """A semaphore as a kernel sees it."""

    def __init__(self, run: GridRun, kernel: Kernel, part: SemaphorePart) -> None:
        self.run, self.kernel, self.part, self.rows = run, kernel, part, kernel.rows

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
