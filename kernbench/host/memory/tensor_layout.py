"""Layout of a tensor in memory: the address of each shard, and reads and writes of its elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import itemsize, numpy_dtype
from kernbench.host.memory.placement import REPLICATE, Block, DPPolicy, matrix_shape
from kernbench.host.messages import Entries, MapEntry, Shard
from kernbench.replay.deferred import Deferred, DeferredBlock

if TYPE_CHECKING:
    from kernbench.replay.store import MemoryStore
    from kernbench.replay.timed_store import TimedStore

Locate = Callable[[int], tuple[int, int, int]]  # physical address → (memory node, offset in it, bytes to its end)


@dataclass(frozen=True, slots=True)
class Layout:
    """A placed tensor: each part with its copies; one copy if it is not replicated, none if it is empty."""

    va: int  # its first address for kernels
    shape: tuple[int, ...]
    dtype: str
    policy: DPPolicy
    cubes: int  # that hold it: 0 … cubes - 1
    pes: int  # in each of them
    parts: tuple[tuple[Block, tuple[Shard, ...]], ...]

    @property
    def nbytes(self) -> int:
        """Bytes of the range of addresses."""
        return sum(block.elements for block, _ in self.parts) * itemsize(self.dtype)

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Every copy of every part."""
        return tuple(shard for _, copies in self.parts for shard in copies)

    def targets(self, pes_per_cube: int) -> dict[int, dict[int, Entries]]:
        """The entries of all PEs of its cubes, by cube and PE; PEs with the same entries share one object.

        A PE that holds nothing of a tensor gets the entries of the first PE of its cube.
        """
        found: dict[tuple[int | None, int | None], Entries] = {}
        targets: dict[int, dict[int, Entries]] = {}
        for cube in range(self.cubes):
            for pe in range(pes_per_cube):
                holder = pe if pe < self.pes else 0
                key = (cube if self.policy.cube == REPLICATE else None, holder if self.policy.pe == REPLICATE else None)
                if key not in found:
                    found[key] = self.entries(cube, holder)
                targets.setdefault(cube, {})[pe] = found[key]
        return targets

    def entries(self, cube: int, pe: int) -> Entries:
        """The entries of a PE: each part by rising address; of a replicated part this PE's own copy."""
        size = itemsize(self.dtype)
        return tuple(
            MapEntry(self.va + block.first_element * size, self._own_copy(block, copies, cube, pe))
            for block, copies in self.parts
            if copies
        )

    def _own_copy(self, block: Block, copies: tuple[Shard, ...], cube: int, pe: int) -> Shard:
        """The copy of a part for a PE. Copies are ordered by cube, then PE, of the replicated axes."""
        row = cube if block.cube is None else 0
        return copies[row * self.pes + pe if block.pe is None else row]

    def scatter(self, store: MemoryStore | TimedStore, make: Callable[[], np.ndarray], locate: Locate) -> None:
        """Put the parts of an array into memory; `make` is called once, when memory that holds one is first accessed.

        Copies of a part share its bytes until one of them is written.
        """
        parts = Deferred(lambda: self._cut(make()))
        for i, (_, copies) in enumerate(self.parts):
            for shard in copies:
                node, offset, _ = locate(shard.pa)
                store.put(node, offset, DeferredBlock(parts, i, 0, shard.nbytes))

    def _cut(self, array: np.ndarray) -> Sequence[np.ndarray]:
        """uint8[bytes] of each part of an array; read-only if there are several copies."""
        matrix, found = array.reshape(matrix_shape(self.policy, self.shape)), list[np.ndarray]()
        for block, copies in self.parts:
            part = np.array(matrix[block.row_start : block.row_end, block.col_start : block.col_end], order="C")
            found.append(part.reshape(-1).view(np.uint8))
            found[-1].flags.writeable = len(copies) == 1
        return found

    @property
    def copies(self) -> int:
        """The number of copies of each part."""
        return max(len(copies) for _, copies in self.parts)

    def gather(self, store: MemoryStore | TimedStore, locate: Locate, copy: int = 0) -> np.ndarray:
        """Read the array from memory; of replicated parts one copy, by default the first."""
        matrix = np.empty(matrix_shape(self.policy, self.shape), numpy_dtype(self.dtype))
        for block, copies in self.parts:
            if copies:
                node, offset, _ = locate(copies[copy].pa)
                data = store.read(node, offset, copies[copy].nbytes)
                rows, cols = block.row_end - block.row_start, block.col_end - block.col_start
                part = np.frombuffer(data.tobytes(), matrix.dtype).reshape(rows, cols)
                matrix[block.row_start : block.row_end, block.col_start : block.col_end] = part
        return matrix.reshape(self.shape)
