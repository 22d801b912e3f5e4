"""Placement of a tensor over the cubes and PEs of one SIP.

Each of the two axes (cubes, and PEs of a cube) is replicated, split by rows, split by columns, or split into tiles.
Tiles are a grid of parts, as square as their number allows, numbered row by row or column by column. Splits may be
uneven: all parts but the last have ceil(n / parts) rows; the last are smaller and may be empty.

A part is contiguous in the range of virtual addresses of the tensor, and parts follow each other in the order (cube,
PE). So a kernel computes the address of its part from the shape alone, without a table. A replicated axis adds copies,
not addresses.
"""

# pyright: reportUnnecessaryIsInstance=false
# What users write is not checked for types before it runs.

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from kernbench.errors import InputError, suggest

REPLICATE, COLUMN_WISE, ROW_WISE = "replicate", "column_wise", "row_wise"
TILED_ROW_MAJOR, TILED_COLUMN_MAJOR = "tiled_row_major", "tiled_column_major"
STRATEGIES = (REPLICATE, COLUMN_WISE, ROW_WISE, TILED_ROW_MAJOR, TILED_COLUMN_MAJOR)


class DPPolicy:
    """Split of a tensor over cubes, then over the PEs of each cube; `num_cubes` and `num_pes` limit their numbers.

    There is no `sip`: a tensor lives on the SIP selected when it is made, so `sip=` is a TypeError, like any unknown keyword.
    Errors: InputError for an unknown strategy or a count below 1.
    """

    __slots__ = ("cube", "num_cubes", "num_pes", "pe")

    def __init__(
        self, cube: str = REPLICATE, pe: str = REPLICATE, num_pes: int | None = None, num_cubes: int | None = None
    ) -> None:
        for axis, strategy in (("cube", cube), ("pe", pe)):
            if strategy not in STRATEGIES:
                raise InputError(f"DPPolicy {axis}={strategy!r} is no strategy{suggest(str(strategy), STRATEGIES)}")
        for axis, count in (("num_pes", num_pes), ("num_cubes", num_cubes)):
            if count is not None and (not isinstance(count, (int, np.integer)) or isinstance(count, bool)):
                raise InputError(f"DPPolicy {axis}={count!r} is no whole number; give one, or None for all")
            if count is not None and count < 1:
                raise InputError(f"DPPolicy {axis}={count} leaves nobody to hold the tensor; give 1 or more")
        self.cube = cube
        self.pe = pe
        self.num_pes = None if num_pes is None else int(num_pes)
        self.num_cubes = None if num_cubes is None else int(num_cubes)

    def __repr__(self) -> str:
        return f"DPPolicy(cube={self.cube!r}, pe={self.pe!r}, num_pes={self.num_pes}, num_cubes={self.num_cubes})"


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a tensor: rows and columns of its 2D view, and its first element in the tensor's range.

    `cube` and `pe` hold it; None on a replicated axis, where each cube or PE holds a copy.
    """

    cube: int | None
    pe: int | None
    row_start: int
    row_end: int
    col_start: int
    col_end: int
    first_element: int

    @property
    def elements(self) -> int:
        """The number of elements; 0 for an empty part."""
        return (self.row_end - self.row_start) * (self.col_end - self.col_start)


def split(policy: DPPolicy, shape: tuple[int, ...], cubes: int, pes: int) -> list[Block]:
    """The parts of a tensor, in the order of their addresses; `cubes` and `pes` take part.

    A tensor of more than two dimensions is viewed as a matrix (product of all but the last, last). A vector is viewed
    as one column if it is split by rows, else as one row, and its tiles are columns.
    """
    rows, cols = matrix_shape(policy, shape)
    over_cubes, over_pes = (_flat(strategy, shape) for strategy in (policy.cube, policy.pe))
    blocks: list[Block] = []
    first = 0
    for cube in range(cubes) if policy.cube != REPLICATE else (None,):
        cube_rows, cube_cols = _part(over_cubes, cube, cubes, (0, rows), (0, cols))
        for pe in range(pes) if policy.pe != REPLICATE else (None,):
            (r0, r1), (c0, c1) = _part(over_pes, pe, pes, cube_rows, cube_cols)
            blocks.append(Block(cube, pe, r0, r1, c0, c1, first))
            first += blocks[-1].elements
    return blocks


def matrix_shape(policy: DPPolicy, shape: tuple[int, ...]) -> tuple[int, int]:
    """The (rows, columns) of the matrix as which a tensor is split."""
    if len(shape) >= 2:
        return math.prod(shape[:-1]), shape[-1]
    length = math.prod(shape)
    return (length, 1) if ROW_WISE in (policy.cube, policy.pe) else (1, length)


def _flat(strategy: str, shape: tuple[int, ...]) -> str:
    """The strategy for a shape: a vector is split by columns instead of tiles."""
    tiled = strategy in (TILED_ROW_MAJOR, TILED_COLUMN_MAJOR)
    return COLUMN_WISE if tiled and len(shape) < 2 else strategy


def _part(
    strategy: str, index: int | None, parts: int, rows: tuple[int, int], cols: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    if index is None:
        return rows, cols
    if strategy == ROW_WISE:
        return part_of(rows, index, parts), cols
    if strategy == COLUMN_WISE:
        return rows, part_of(cols, index, parts)
    down, across = tile_grid(parts)
    row, col = divmod(index, across) if strategy == TILED_ROW_MAJOR else divmod(index, down)[::-1]
    return part_of(rows, row, down), part_of(cols, col, across)


def tile_grid(parts: int) -> tuple[int, int]:
    """Rows and columns of the tiles of a tiled axis: as square as the number allows, no taller than wide."""
    down = next(side for side in range(math.isqrt(parts), 0, -1) if parts % side == 0)
    return down, parts // down


def part_of(span: tuple[int, int], index: int, parts: int) -> tuple[int, int]:
    """(first, end) of part `index` of `parts` of a span (first, end). Every axis is split by this; kernels may call it too."""
    start, end = span
    size = -(-(end - start) // parts)
    return min(start + index * size, end), min(start + (index + 1) * size, end)
