"""Contents of memories: blocks of bytes by (space, address).

A space is a memory of the machine (its node), an address an offset in it. Blocks are numpy arrays by reference: placing one
copies nothing, so a tensor replicated over 256 slices is in the store 256 times and in the host's memory once. A
read-only (shared) block is copied on its first write. Memory that was never written reads as zeros.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np


class MemoryStore:
    """Bytes by space and address. Arrays are uint8[bytes]."""

    __slots__ = ("_arrays", "_starts")

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}  # by space, rising
        self._arrays: dict[int, list[np.ndarray]] = {}

    def put(self, space: int, address: int, data: np.ndarray) -> None:
        """Place a block by reference, replacing earlier contents."""
        if not len(data):
            return
        self._carve(space, address, address + len(data))
        starts, arrays = self._starts[space], self._arrays[space]
        at = bisect_left(starts, address)
        starts.insert(at, address)
        arrays.insert(at, data)

    def write(self, space: int, address: int, data: np.ndarray) -> None:
        """Copy bytes in."""
        at = 0
        for start, end, index in list(self._pieces(space, address, address + len(data))):
            piece = data[at : at + end - start]
            at += end - start
            if index is None:
                self.put(space, start, piece.copy())
                continue
            index = bisect_right(self._starts[space], start) - 1  # a put of an earlier piece may have moved it
            arrays = self._arrays[space]
            if not arrays[index].flags.writeable:
                arrays[index] = arrays[index].copy()
            first = start - self._starts[space][index]
            arrays[index][first : first + len(piece)] = piece

    def read(self, space: int, address: int, nbytes: int) -> np.ndarray:
        """uint8[nbytes]; a view if one block holds all of it, so copy it to keep it."""
        starts = self._starts.get(space, ())
        index = bisect_right(starts, address) - 1
        if index >= 0:  # the usual case: one block holds all of it, and live kernels read a million times
            first, block = address - starts[index], self._arrays[space][index]
            if first + nbytes <= len(block):
                return block[first : first + nbytes]
        pieces = [self._view(space, *piece) for piece in self._pieces(space, address, address + nbytes)]
        return pieces[0] if len(pieces) == 1 else np.concatenate([*pieces, np.zeros(0, np.uint8)])

    def _view(self, space: int, start: int, end: int, index: int | None) -> np.ndarray:
        if index is None:
            return np.zeros(end - start, np.uint8)
        first = self._starts[space][index]
        return self._arrays[space][index][start - first : end - first]

    def _pieces(self, space: int, start: int, end: int) -> Iterator[tuple[int, int, int | None]]:
        """The range as (start, end, index of the block that holds it or None for memory that was never written)."""
        starts, arrays = self._starts.get(space, []), self._arrays.get(space, [])
        at = max(bisect_right(starts, start) - 1, 0)
        while start < end:
            while at < len(starts) and starts[at] + len(arrays[at]) <= start:
                at += 1
            if at == len(starts) or starts[at] >= end:
                yield start, end, None
                return
            if start < starts[at]:
                yield start, starts[at], None
                start = starts[at]
            stop = min(end, starts[at] + len(arrays[at]))
            yield start, stop, at
            start = stop

    def _carve(self, space: int, start: int, end: int) -> None:
        """Drop a range; the contents of its blocks outside of it stay, as views."""
        starts, arrays = self._starts.setdefault(space, []), self._arrays.setdefault(space, [])
        first = max(bisect_right(starts, start) - 1, 0)
        if first < len(starts) and starts[first] + len(arrays[first]) <= start:
            first += 1
        last = bisect_left(starts, end)
        kept: list[tuple[int, np.ndarray]] = []
        for at, array in zip(starts[first:last], arrays[first:last], strict=True):
            if at < start:
                kept.append((at, array[: start - at]))
            if at + len(array) > end:
                kept.append((end, array[end - at :]))
        starts[first:last] = [at for at, _ in kept]
        arrays[first:last] = [array for _, array in kept]
