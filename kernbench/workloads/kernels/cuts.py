"""How a weight (out, features) is cut over the PEs of a SIP: into blocks of rows and columns, each whole in one PE.

The cubes are a grid of rows and columns of blocks, and so are the PEs of each. A cut says how many columns the two grids
have: features are cut over `cubes` x `pes`, and rows over the rest. More columns let a PE read less of the input, and leave
more parts to add up.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

from kernbench.host.memory.placement import COLUMN_WISE, ROW_WISE, TILED_ROW_MAJOR, DPPolicy, part_of, tile_grid
from kernbench.workloads.kernels.layout import CUBES, PES

Span = tuple[int, int]


class Cut(NamedTuple):
    """Columns of blocks: of the grid of cubes, and of the grid of the PEs of each."""

    cubes: int
    pes: int


class Grid(NamedTuple):
    """The PEs of a SIP, as `cut` arranges them."""

    cubes: int
    pes: int
    cut: Cut

    @classmethod
    def of(cls, tl: Any, cut: tuple[int, int]) -> Grid:
        """That of a kernel."""
        return cls(tl.num_programs(CUBES), tl.num_programs(PES), Cut(*cut))

    def rows_of_parts(self, out: int) -> int:
        """The rows of the tensor of all parts: as many for each PE."""
        return self.slot_rows(out) * self.cubes * self.pes

    def slot_rows(self, out: int) -> int:
        """The most rows of a block."""
        return self.block_shape(out, 1)[0]

    def block_shape(self, out: int, features: int) -> tuple[int, int]:
        """Rows and columns of the largest block."""
        rows = _share(_share(out, self.cubes // self.cut.cubes), self.pes // self.cut.pes)
        return rows, _share(_share(features, self.cut.cubes), self.cut.pes)

    def block(self, out: int, features: int, cube: int, pe: int) -> Block:
        """The block of a PE."""
        (down, across), (below, beside) = divmod(cube, self.cut.cubes), divmod(pe, self.cut.pes)
        cube_rows = part_of((0, out), down, self.cubes // self.cut.cubes)
        cube_columns = part_of((0, features), across, self.cut.cubes)
        rows = part_of(cube_rows, below, self.pes // self.cut.pes)
        columns = part_of(cube_columns, beside, self.cut.pes)
        first = _begin(cube_rows, cube_columns, (0, features)) + _begin(
            (rows[0] - cube_rows[0], rows[1] - cube_rows[0]), columns, cube_columns
        )
        return Block(rows, columns, first, cube * self.pes + pe)

    def holders(self, out: int, features: int, rows: Span) -> list[list[Block]]:
        """The blocks that have any of some rows: for each row of blocks its columns that are not empty."""
        return [
            row
            for row in _list_rows(self, out, features)
            if max(row[0].rows[0], rows[0]) < min(row[0].rows[1], rows[1])
        ]


class Block(NamedTuple):
    """What a PE has of a weight: rows, columns, the first element in the tensor, and its number among all PEs."""

    rows: Span
    columns: Span
    first: int
    slot: int


@lru_cache(64)
def _list_rows(grid: Grid, out: int, features: int) -> list[list[Block]]:
    """The blocks that are not empty, by their rows."""
    found: dict[Span, list[Block]] = {}
    for cube, pe in product(range(grid.cubes), range(grid.pes)):
        block = grid.block(out, features, cube, pe)
        if block.rows[0] < block.rows[1] and block.columns[0] < block.columns[1]:
            found.setdefault(block.rows, []).append(block)
    return list(found.values())


def _share(size: int, parts: int) -> int:
    return -(-size // parts)


def _begin(rows: Span, columns: Span, of: Span) -> int:
    """The elements of a matrix of columns `of` before a block, if blocks to its left have the same rows."""
    return rows[0] * (of[1] - of[0]) + (rows[1] - rows[0]) * (columns[0] - of[0])


def list_cuts(cubes: int, pes: int) -> list[Cut]:
    """The cuts that placements have: rows, tiles or columns, over cubes and over PEs."""
    return [Cut(*one) for one in dict.fromkeys((a, b) for a in _sides(cubes) for b in _sides(pes))]


def place(grid: Grid) -> DPPolicy:
    """The placement of a weight that is cut so."""
    return DPPolicy(cube=_strategy(grid.cut.cubes, grid.cubes), pe=_strategy(grid.cut.pes, grid.pes))


def _sides(count: int) -> tuple[int, ...]:
    return 1, tile_grid(count)[1], count


def _strategy(columns: int, count: int) -> str:
    return ROW_WISE if columns == 1 else COLUMN_WISE if columns == count else TILED_ROW_MAJOR
