"""Contents of memories: blocks of bytes by (space, address).

A space is a memory of the machine (its node), an address an offset in it. Blocks are numpy arrays by reference: placing one
copies nothing, so a tensor replicated over 256 slices is in the store 256 times and in the host's memory once. A
read-only (shared) block is copied on its first write. A deferred block is made when it is first read or written in part.
Memory that was never written reads as zeros.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

import numpy as np

from kernbench.replay.deferred import DeferredBlock

Block = np.ndarray | DeferredBlock


class MemoryStore:
    """Bytes by space and address. Arrays are uint8[bytes]."""

    __slots__ = ("_blocks", "_starts")

    def __init__(self) -> None:
        self._starts: dict[int, list[int]] = {}  # by space, rising
        self._blocks: dict[int, list[Block]] = {}

    def put(self, space: int, address: int, data: Block) -> None:
        """Place a block by reference, replacing earlier contents."""
        if not len(data):
            return
        self._carve(space, address, address + len(data))
        at = bisect_left(self._starts[space], address)
        self._starts[space].insert(at, address)
        self._blocks[space].insert(at, data)

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
            block = self._array(space, index)
            if not block.flags.writeable:
                block = self._blocks[space][index] = block.copy()
            first = start - self._starts[space][index]
            block[first : first + len(piece)] = piece

    def read(self, space: int, address: int, nbytes: int) -> np.ndarray:
        """uint8[nbytes]; a view if one block holds all of it, so copy it to keep it."""
        starts = self._starts.get(space, ())
        index = bisect_right(starts, address) - 1
        if index >= 0:  # the usual case: one block holds all of it, and live kernels read a million times
            first, block = address - starts[index], self._blocks[space][index]
            if first + nbytes <= len(block):
                if isinstance(block, DeferredBlock):
                    block = self._array(space, index)
                return block[first : first + nbytes]
        pieces = [self._view(space, *piece) for piece in self._pieces(space, address, address + nbytes)]
        return pieces[0] if len(pieces) == 1 else np.concatenate([*pieces, np.zeros(0, np.uint8)])

    def read_later(self, space: int, address: int, nbytes: int) -> Block:
        """As `read`; of a deferred block that is not made, the bytes as they are now, to be made later."""
        index = bisect_right(self._starts.get(space, ()), address) - 1
        if index >= 0:
            first, block = address - self._starts[space][index], self._blocks[space][index]
            if isinstance(block, DeferredBlock) and not block.is_made and first + nbytes <= len(block):
                self._blocks[space][index] = block = block.keep()
                return block[first : first + nbytes]
        return self.read(space, address, nbytes)

    def _view(self, space: int, start: int, end: int, index: int | None) -> np.ndarray:
        if index is None:
            return np.zeros(end - start, np.uint8)
        first = self._starts[space][index]
        return self._array(space, index)[start - first : end - first]

    def _array(self, space: int, index: int) -> np.ndarray:
        """A block, made if it is deferred."""
        block = self._blocks[space][index]
        if isinstance(block, DeferredBlock):
            block = self._blocks[space][index] = block.make()
        return block

    def _pieces(self, space: int, start: int, end: int) -> Iterator[tuple[int, int, int | None]]:
        """The range as (start, end, index of the block that holds it or None for memory that was never written)."""
        starts, blocks = self._starts.get(space, []), self._blocks.get(space, [])
        at = max(bisect_right(starts, start) - 1, 0)
        while start < end:
            while at < len(starts) and starts[at] + len(blocks[at]) <= start:
                at += 1
            if at == len(starts) or starts[at] >= end:
                yield start, end, None
                return
            if start < starts[at]:
                yield start, starts[at], None
                start = starts[at]
            stop = min(end, starts[at] + len(blocks[at]))
            yield start, stop, at
            start = stop

    def _carve(self, space: int, start: int, end: int) -> None:
        """Drop a range; the contents of its blocks outside of it stay, as views."""
        starts, blocks = self._starts.setdefault(space, []), self._blocks.setdefault(space, [])
        first = max(bisect_right(starts, start) - 1, 0)
        if first < len(starts) and starts[first] + len(blocks[first]) <= start:
            first += 1
        last = bisect_left(starts, end)
        kept: list[tuple[int, Block]] = []
        for at, block in zip(starts[first:last], blocks[first:last], strict=True):
            if at < start:
                kept.append((at, block[: start - at]))
            if at + len(block) > end:
                kept.append((end, block[end - at :]))
        starts[first:last] = [at for at, _ in kept]
        blocks[first:last] = [block for _, block in kept]
