"""Where the tensors of a network lie on a SIP, and which rows are a PE's own."""

from __future__ import annotations

from typing import Any

from kernbench.host.memory.placement import DPPolicy, part_of

OVER_PES = DPPolicy(cube="row_wise", pe="row_wise")
IN_CUBES = DPPolicy(pe="row_wise")
TILE_BYTES = 1 << 16  # of a read: long beside the time until its first byte comes
WIDE = 128  # of an axis of a tile
ROWS_AND_COLUMNS = DPPolicy(cube="row_wise", pe="column_wise")  # of weights: rows of a cube, columns of a PE
PES, CUBES = 0, 1  # axes of `tl.program_id`


def own_rows(tl: Any, rows: int) -> tuple[int, int]:
    """(first, end) of a PE's rows of a tensor OVER_PES."""
    cube = part_of((0, rows), tl.program_id(CUBES), tl.num_programs(CUBES))
    return part_of(cube, tl.program_id(PES), tl.num_programs(PES))


def rows_in_cube(tl: Any, rows: int) -> tuple[int, int]:
    """(first, end) of a PE's rows of a tensor IN_CUBES."""
    return part_of((0, rows), tl.program_id(PES), tl.num_programs(PES))


def find_tile(rows: int, inner: int, cols: int, itemsize: int, streamed: str) -> tuple[int, int, int]:
    """The tile (rows, inner, cols) of a product whose operand "a" or "b" streams: whole in the outer axis, in long reads."""
    outer = rows if streamed == "a" else cols
    deep = max(1, TILE_BYTES // (min(outer, WIDE) * itemsize))
    if streamed == "a" and inner <= deep:
        return min(rows, deep * min(outer, WIDE) // inner or 1), inner, cols
    return min(rows, WIDE), min(inner, deep), min(cols, WIDE)
