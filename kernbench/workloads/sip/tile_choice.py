"""Which tiles the programs of a kernel over rows and columns take: those of least time by a bound.

The bound of a choice is the longer of two times: of a PE, for its reads and operations, and of what a cube needs
of the rows that others hold, over its connection. Programs follow each other in the order of the result, as many on each PE.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import NamedTuple

from kernbench.workloads.sip.engine import Engine
from kernbench.workloads.sip.product_blocks import ceil_power

_MOST = 16384  # elements of a tile
_PASSED_BYTES = 4  # of an element of f32 that an operation brings from TCM
_LEAST_COLS = 32


class Sweeps(NamedTuple):
    """What a kernel does for each element of its result: reads, operations of f32, and bytes of an element.

    `reads_ahead`: the reads of a tile are under way beside its operations.
    """

    reads: int
    operations: int
    itemsize: int
    reads_ahead: bool = False


def choose_tile(sizes: tuple[int, ...], sweeps: Sweeps, engine: Engine, whole_rows: bool = False) -> tuple[int, int]:
    """Rows and columns of a tile of the last two axes. `whole_rows`: a tile has all columns."""
    columns = [ceil_power(sizes[-1])] if whole_rows else _powers(_LEAST_COLS, sizes[-1])
    found = [(rows, cols) for cols in columns for rows in _powers(1, sizes[-2]) if rows * cols <= max(_MOST, cols)]
    return min(found, key=lambda one: bound_tiles(_count(sizes, one), one, prod(sizes), sweeps, engine))


def choose_window(sizes: tuple[int, ...], sweeps: Sweeps, engine: Engine) -> tuple[int, int, int]:
    """Lines, pixels of a line, and channels of a tile of (n, h, w, channels)."""
    n, high, wide, channels = sizes
    found = [
        (lines, pixels, cols)
        for cols in _powers(min(_LEAST_COLS, ceil_power(channels)), channels)
        for pixels in _powers(min(4, ceil_power(wide)), wide)
        for lines in _powers(1, high)
        if lines * pixels * cols <= _MOST
    ]

    def bound(one: tuple[int, int, int]) -> float:
        lines, pixels, cols = one
        count = n * -(-high // lines) * -(-wide // pixels) * -(-channels // cols)
        return bound_tiles(count, (lines * pixels, cols), prod(sizes), sweeps, engine, lines)

    return min(found, key=bound)


def bound_tiles(count: int, tile: tuple[int, int], total: int, sweeps: Sweeps, engine: Engine, lines: int = 1) -> float:
    """The least time of a number of tiles, in femtoseconds; `total` are the elements of the result without padding.

    A read of a tile is a transfer for each of its lines.
    """
    rows, cols = tile
    each, line = -(-count // engine.all_pes), cols * sweeps.itemsize
    moved = rows * -(-line // engine.burst_bytes) * engine.burst_bytes
    far_share = find_far_share(count, engine)
    trip_fs = engine.far_read_fs if far_share else engine.read_fs
    reads = sweeps.reads * (moved / engine.hbm_bytes_fs + lines * trip_fs)
    works = sweeps.operations * (
        rows * cols * (engine.element_fs + _PASSED_BYTES / engine.tcm_bytes_fs) + engine.read_fs
    )
    own = each * (max(reads, works) if sweeps.reads_ahead else reads + works)
    far = far_share * total * moved / (rows * line) * sweeps.reads * sweeps.itemsize
    return max(own, far / engine.link_bytes_fs)


def find_far_share(count: int, engine: Engine) -> float:
    """The most that a cube needs of what others hold, as a share of all."""
    cubes = engine.all_pes // engine.pes
    taken = -(-count // engine.all_pes) * engine.pes
    most = 0.0
    for cube in range(cubes):
        first, end = min(count, cube * taken) / count, min(count, (cube + 1) * taken) / count
        near = min(end, (cube + 1) / cubes) - max(first, cube / cubes)
        most = max(most, end - first - max(0.0, near))
    return most


def _count(sizes: tuple[int, ...], tile: tuple[int, int]) -> int:
    return prod(sizes[:-2]) * -(-sizes[-2] // tile[0]) * -(-sizes[-1] // tile[1])


def _powers(least: int, size: int) -> Iterable[int]:
    """Powers of two up to the one that holds a size."""
    most = ceil_power(size)
    found = [1 << at for at in range(most.bit_length()) if 1 << at >= least]
    return [one for one in found if one <= most] or [most]
