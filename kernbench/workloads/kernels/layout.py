"""Where the tensors of a network lie on a SIP, and which rows are a PE's own."""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.host.memory.placement import DPPolicy, part_of

OVER_PES = DPPolicy(cube="row_wise", pe="row_wise")
IN_CUBES = DPPolicy(pe="row_wise")
TILE_BYTES = 1 << 16  # of a read: long beside the time until its first byte comes
WIDE = 128  # of an axis of a tile
ROWS_AND_COLUMNS = DPPolicy(cube="row_wise", pe="column_wise")  # of weights: rows of a cube, columns of a PE
PES, CUBES = 0, 1  # axes of `tl.program_id`


def over(pes: int | None) -> DPPolicy:
    """As OVER_PES, over the first `pes` PEs of each cube; None: over all."""
    return DPPolicy(cube="row_wise", pe="row_wise", num_pes=pes)


def own_rows(tl: Any, rows: int) -> tuple[int, int]:
    """(first, end) of a PE's rows of a tensor OVER_PES."""
    cube = part_of((0, rows), tl.program_id(CUBES), tl.num_programs(CUBES))
    return part_of(cube, tl.program_id(PES), tl.num_programs(PES))


def rows_in_cube(tl: Any, rows: int) -> tuple[int, int]:
    """(first, end) of a PE's rows of a tensor IN_CUBES."""
    return part_of((0, rows), tl.program_id(PES), tl.num_programs(PES))


class Tile(NamedTuple):
    """The tile (m, k, n) of a product."""

    m: int
    k: int
    n: int


def find_tile(sizes: Tile, itemsize: int, streamed: str, own: Tile) -> Tile:
    """The tile of a product of such sizes whose operand "a" or "b" streams.

    Its reads are long beside the time until their first byte comes, and it is no less than the machine's `own` tile, which
    fills the engine.
    """
    m, k, n = sizes
    wide = Tile(max(WIDE, own.m), own.k, max(WIDE, own.n))
    outer = min(m, wide.m) if streamed == "a" else min(n, wide.n)
    deep = max(1, TILE_BYTES // (outer * itemsize), own.k)
    if k <= deep:
        most = TILE_BYTES // (k * itemsize)
        return Tile(min(m, max(wide.m, most)), k, n) if streamed == "a" else Tile(m, k, min(n, max(wide.n, most)))
    return Tile(min(m, wide.m), min(k, deep), min(n, wide.n))
