"""Blocks: the layout of activations and weights of parallel layers on a SIP, for the host and for kernels.

The rows (tokens) of an activation are split over the cubes and its columns (features) over the PEs of each cube. The
columns of a weight (in, out) are split over the PEs; each cube has a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from kernbench.host.memory.placement import DPPolicy, part_of

ACTIVATION = DPPolicy(cube="row_wise", pe="column_wise")
WEIGHT = DPPolicy(pe="column_wise")


class Block(NamedTuple):
    """The part of an activation that one PE holds; `first` is its first element."""

    rows: int
    cols: int
    first: int


@dataclass(frozen=True, slots=True)
class Blocks:
    """The blocks of an activation of `tokens` x `features` on `cubes` x `pes`."""

    tokens: int
    features: int
    cubes: int
    pes: int

    def rows(self, cube: int) -> tuple[int, int]:
        """(first, end) of a cube's tokens."""
        return part_of((0, self.tokens), cube, self.cubes)

    def cols(self, pe: int) -> tuple[int, int]:
        """(first, end) of a PE's features."""
        return part_of((0, self.features), pe, self.pes)

    def at(self, cube: int, pe: int) -> Block:
        """The block of a PE, row by row in memory."""
        (row, row_end), (col, col_end) = self.rows(cube), self.cols(pe)
        return Block(row_end - row, col_end - col, row * self.features + (row_end - row) * col)

    def row(self, cube: int) -> list[Block]:
        """The blocks of a cube's tokens, by PE, without empty ones."""
        return [block for block in (self.at(cube, pe) for pe in range(self.pes)) if block.rows and block.cols]

    def find(self, token: int, feature: int) -> tuple[int, int]:
        """The place of an element, and the number of elements from it to the end of its row in the block."""
        size_rows, size_cols = -(-self.tokens // self.cubes), -(-self.features // self.pes)
        cube, pe = token // size_rows, feature // size_cols
        block, (row, _), (col, col_end) = self.at(cube, pe), self.rows(cube), self.cols(pe)
        return block.first + (token - row) * block.cols + feature - col, col_end - feature
