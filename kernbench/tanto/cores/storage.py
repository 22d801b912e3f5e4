"""Memory of a program's objects: global buffers, and the part of a local buffer, pipe or semaphore that one core holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.tanto.tiles import SIDE, TILE, to_matrices

if TYPE_CHECKING:
    from kernbench.tanto.cores.kernel import CoreKernel
    from kernbench.tanto.formats import Format

Core = tuple[int, int]  # logical x, y
_MOST_ARRIVALS = 256
_MOST_FAR = 32
_MOST_ELEMENTS = 64  # of a write whose values are kept for those that poll


class GlobalBuffer:
    """A buffer in DRAM, in pages that are dealt round robin over the banks."""

    __slots__ = ("data", "fmt", "id", "page", "size")

    def __init__(self, id: int, fmt: Format, size: int, page: int) -> None:
        self.id, self.fmt, self.size, self.page = id, fmt, size, page
        self.data = np.zeros(size, fmt.storage)

    def __str__(self) -> str:
        return f"global {self.id}"


@dataclass(slots=True)
class Arrival:
    """A write of elements of a local by a kernel: the counter of its writes there, and its value when this one is there."""

    first: int
    end: int
    kernel: CoreKernel
    counter: int
    value: int
    number: int = 0  # among all of the part
    row: tuple[int, int] | None = None
    elements: np.ndarray | None = None  # of a write of few


class LocalPart:
    """A local buffer on one core; one that outlives its program is kept by the device."""

    __slots__ = ("arrivals", "core", "data", "far", "fmt", "id", "lookers", "noted", "pollers", "size")

    def __init__(self, id: int, core: Core, fmt: Format, size: int) -> None:
        self.id, self.core, self.fmt, self.size = id, core, fmt, size
        self.data = np.zeros(size, fmt.storage)
        self.begin()

    def begin(self) -> None:
        """Begin a program."""
        self.lookers: set[CoreKernel] = set()  # kernels that read its elements
        self.pollers: list[CoreKernel] = []
        self.arrivals: list[Arrival] = []  # the last writes by transfers, where kernels look
        self.noted = 0  # writes in all
        self.far: list[tuple[int, int, tuple[int, int]]] = []  # the last writes by other cores: first, end, row

    def arrival_of(self, index: int) -> Arrival | None:
        """The last write of an element among those that are known."""
        return next((one for one in reversed(self.arrivals) if one.first <= index < one.end), None)

    def note_arrival(self, arrival: Arrival) -> None:
        """Note a write."""
        if len(self.arrivals) >= _MOST_ARRIVALS:
            del self.arrivals[: _MOST_ARRIVALS // 2]
        arrival.number = self.noted
        self.noted += 1
        self.arrivals.append(arrival)

    def note_far(self, first: int, end: int, row: tuple[int, int]) -> None:
        """Note a write by another core."""
        if len(self.far) >= _MOST_FAR:
            del self.far[: _MOST_FAR // 2]
        self.far.append((first, end, row))

    def complete_arrival(self, row: tuple[int, int]) -> None:
        """Give the write that was noted last its row, and its elements, which are there now."""
        last = self.arrivals[-1]
        last.row = row
        if last.end - last.first <= _MOST_ELEMENTS:
            last.elements = self.data[last.first : last.end].copy()

    def changed(self) -> None:
        """Let the kernels look that poll it."""
        waiting, self.pollers = self.pollers, []
        for kernel in waiting:
            kernel.wake()

    def __str__(self) -> str:
        return f"local {self.id}"


class PipePart:
    """A pipe on one core: a ring of tiles, how many were pushed and popped, and who waits for that to change."""

    __slots__ = (
        "core", "counters", "data", "fmt", "frame", "id", "kind", "matrices", "popped", "pushed", "pushes", "tile_bytes",
        "tiles", "twins", "waited", "waiters",
    )  # fmt: skip

    def __init__(self, id: int, core: Core, kind: int, fmt: Format, tiles: int, frame: int, data: np.ndarray) -> None:
        self.id, self.core, self.kind, self.fmt, self.tiles, self.frame = id, core, kind, fmt, tiles, frame
        self.data, self.tile_bytes = data, fmt.bytes_of(TILE)
        self.pushed = self.popped = self.waited = 0  # tiles; waited: that a kernel waited for, or popped
        self.pushes: list[tuple[int, int, int]] = []  # (tiles pushed with it, thread, row) of each push
        self.waiters: list[CoreKernel] = []
        self.matrices: list[np.ndarray | None] = [None] * tiles  # float32[32, 32] of tiles as far as they are known
        self.counters: tuple[int, int] = (-1, -1)  # of the device program: tiles pushed, tiles popped
        self.twins: list[PipePart] = []  # the pipes over the same local, this one included

    def __str__(self) -> str:
        return f"pipe {self.id}"

    def forget(self, first: int, count: int) -> None:
        """Forget the matrices of tiles that elements from `first` on were written to, also those of pipes in the same place."""
        begin, end = first // TILE, (first + count + TILE - 1) // TILE
        self.matrices[begin:end] = [None] * (min(end, self.tiles) - begin)
        for twin in self.twins:
            if twin is not self:
                twin.forget_bytes(self.fmt.bytes_of(first), self.fmt.bytes_of(count))

    def forget_bytes(self, first: int, count: int) -> None:
        """Forget the matrices of tiles that bytes from `first` on were written to."""
        size = self.tile_bytes
        begin, end = first // size, min((first + count + size - 1) // size, self.tiles)
        self.matrices[begin:end] = [None] * max(0, end - begin)

    def matrix(self, tile: int, first: int, frame: int) -> np.ndarray:
        """float32[32, 32] of a tile of the ring; those of the frame from `first` on are made with it."""
        found = self.matrices[tile]
        if found is None:
            end = min(first + max(frame, 1), self.tiles)
            if not first <= tile < end:
                first, end = tile, tile + 1
            made = self.fmt.to_float(to_matrices(self.data[first * TILE : end * TILE].reshape(-1, TILE)))
            self.matrices[first:end] = list(made.reshape(-1, SIDE, SIDE))
            found = made[tile - first]
        return found


class SemaphorePart:
    """A semaphore on one core.

    `history` has its value after each change, which is an event, and before the first; `since` is the event after which it has
    had its value.
    """

    __slots__ = ("core", "counter", "history", "id", "rows", "since", "value", "waiters")

    def __init__(self, id: int, core: Core, value: int) -> None:
        self.id, self.core, self.value = id, core, value
        self.since = 0
        self.history = [value]
        self.rows: list[tuple[int, int]] = []  # (thread, row) of each event
        self.waiters: list[tuple[CoreKernel, int]] = []  # who waits for which value
        self.counter = -1  # of the device program: events

    def __str__(self) -> str:
        return f"semaphore {self.id}"

    @property
    def events(self) -> int:
        """How often its value was set or changed."""
        return len(self.rows)

    def passed(self, value: int, after: int) -> int:
        """The first event after another which gave it a value that it no longer has, or -1."""
        found = (event for event in range(after + 1, self.events) if self.history[event] == value)
        return next(found, -1)

    def change(self, value: int, row: tuple[int, int]) -> None:
        """Give it a value; kernels that wait for this value go on, even if it changes before they do."""
        value &= 0xFFFFFFFF
        self.history.append(value)
        self.rows.append(row)
        if value != self.value:
            self.value, self.since = value, self.events
        left = list[tuple["CoreKernel", int]]()
        for kernel, wanted in self.waiters:
            if wanted == value:
                kernel.met_at = self.since
                kernel.wake()
            else:
                left.append((kernel, wanted))
        self.waiters = left


def ring_pieces(at: int, count: int, size: int) -> list[tuple[int, int]]:
    """(first, count) of the one or two stretches that `count` elements of a ring of `size` are in."""
    at %= size
    if at + count <= size:
        return [(at, count)]
    return [(at, size - at), (0, count - (size - at))]
