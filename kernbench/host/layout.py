"""Where the parts of a tensor lie in memory, and its numbers to and from there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernbench.dtypes import itemsize, numpy_dtype
from kernbench.host.messages import Shard
from kernbench.host.mmu import Regions
from kernbench.host.policy import Block, DPPolicy, matrix_shape
from kernbench.replay.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Layout:
    """A placed tensor: each part with its copies, one copy where it is not replicated, none where it is empty."""

    va: int
    shape: tuple[int, ...]
    dtype: str
    policy: DPPolicy
    cubes: int  # 0 … cubes - 1 hold it
    pes: int  # in each of them
    parts: tuple[tuple[Block, tuple[Shard, ...]], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the virtual range."""
        return sum(block.elements for block, _ in self.parts) * itemsize(self.dtype)

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Every copy of every part."""
        return tuple(shard for _, copies in self.parts for shard in copies)

    def regions(self, cube: int, pe: int) -> Regions:
        """What the MMU of a PE is told: each part, at this PE's own copy where an axis is replicated."""
        size, rows = itemsize(self.dtype), []
        for block, copies in self.parts:
            for shard in copies:
                if shard.cube == _or(block.cube, cube) and shard.pe == _or(block.pe, pe):
                    start = self.va + block.first_element * size
                    rows.append((start, start + shard.nbytes, shard.node, shard.pa))
        return Regions.of(rows)

    def scatter(self, store: MemoryStore, array: np.ndarray) -> None:
        """Put the parts of an array in memory; copies of a part share its bytes until one of them is written."""
        matrix = array.reshape(matrix_shape(self.policy, self.shape))
        for block, copies in self.parts:
            part = np.array(matrix[block.row_start : block.row_end, block.col_start : block.col_end], order="C")
            data = part.reshape(-1).view(np.uint8)
            data.flags.writeable = len(copies) == 1
            for shard in copies:
                store.put(shard.node, shard.pa, data)

    def gather(self, store: MemoryStore) -> np.ndarray:
        """The array in memory, of replicated parts the first copy."""
        matrix = np.empty(matrix_shape(self.policy, self.shape), numpy_dtype(self.dtype))
        for block, copies in self.parts:
            if copies:
                data = store.read(copies[0].node, copies[0].pa, copies[0].nbytes)
                rows, cols = block.row_end - block.row_start, block.col_end - block.col_start
                part = np.frombuffer(data.tobytes(), matrix.dtype).reshape(rows, cols)
                matrix[block.row_start : block.row_end, block.col_start : block.col_end] = part
        return matrix.reshape(self.shape)


def _or(index: int | None, own: int) -> int:
    return own if index is None else index
