"""How the PEs of a SIP share a product: the blocks of least time by a bound, among all that fit into scratch.

The bound of a choice is the longest of three times of a PE: its matrix engine's, that of its TCM, which gives operands and sums
to the engine, and that of its reads. What a block pads counts as work.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kernbench.workloads.kernels.windows import Blocks, Extent

STAGES = 3  # blocks of inner elements under way at once
_COLS = (16, 32, 64, 128, 256)
_INNER = (32, 64, 128, 256)
_ROWS = 512  # of a block at most
_SUM_BYTES = 4  # of an element of a sum
_SUMS = 4  # blocks of sums that live at once: before and after a product, and in the steps that follow
_SCRATCH_SHARE = 0.9
_REMOTE = 2  # a byte that crosses dies takes links of both


class Engine(NamedTuple):
    """Of a PE: flops, bytes of its TCM and of its HBM in a femtosecond; its tile; its scratch; PEs of a cube and of a SIP."""

    flops_fs: float
    tcm_bytes_fs: float
    hbm_bytes_fs: float
    read_fs: int  # of the shortest read
    tile: tuple[int, int, int]
    scratch_bytes: int
    pes: int
    all_pes: int


@cache
def choose_blocks(extent: Extent, depth: int, itemsize: int, engine: Engine, constant: bool) -> Blocks:
    """The blocks of a product. `constant`: the second operand is weights, and each PE may have its own."""
    return min(
        _list_blocks(extent, depth, itemsize, engine, constant),
        key=lambda one: bound_fs(one, depth, itemsize, engine, constant),
    )


def bound_fs(blocks: Blocks, depth: int, itemsize: int, engine: Engine, constant: bool) -> float:
    """The least time of a PE, in femtoseconds."""
    rounds = -(-depth // blocks.inner)
    inner = rounds * blocks.inner
    tile_m, tile_k, tile_n = engine.tile
    flops = 2 * blocks.rows * inner * blocks.cols
    tiles = -(-blocks.rows // tile_m) * -(-blocks.cols // tile_n) * -(-blocks.inner // tile_k) * rounds
    fetched = tiles * (min(tile_m, blocks.rows) * tile_k + tile_k * min(tile_n, blocks.cols)) * itemsize
    fetched += rounds * blocks.rows * blocks.cols * _SUM_BYTES
    x_bytes = blocks.h * blocks.w * inner * itemsize * (_REMOTE if blocks.col_parts > engine.pes else 1)
    w_bytes = inner * blocks.cols * itemsize * (1 if constant else _REMOTE)
    reads = max((x_bytes + w_bytes) / engine.hbm_bytes_fs, 2 * rounds * engine.read_fs)
    begin = STAGES * engine.read_fs
    each = max(flops / engine.flops_fs, fetched / engine.tcm_bytes_fs, reads)
    return blocks.row_blocks * blocks.col_blocks * (each + begin)


def _list_blocks(extent: Extent, depth: int, itemsize: int, engine: Engine, constant: bool) -> Iterator[Blocks]:
    room = engine.scratch_bytes * _SCRATCH_SHARE
    widest = ceil_power(extent.cols)
    for cols in [one for one in _COLS if one <= widest] or [_COLS[0]]:
        columns = extent.groups * -(-extent.cols // cols)
        for high, wide in _list_pixels(extent, constant):
            rows = max(16, ceil_power(high * wide))
            for inner in [one for one in _INNER if one <= max(_INNER[0], ceil_power(depth))]:
                held = STAGES * (rows + cols) * inner * itemsize + _SUMS * rows * cols * _SUM_BYTES
                if held > room:
                    continue
                total = extent.n * -(-extent.h // high) * -(-extent.w // wide)
                for parts in _divisors(engine.all_pes):
                    if parts <= columns:
                        row_blocks = -(-total // (engine.all_pes // parts))
                        yield Blocks(high, wide, rows, cols, inner, parts, -(-columns // parts), row_blocks)


def _list_pixels(extent: Extent, constant: bool) -> Iterator[tuple[int, int]]:
    """Rectangles of pixels: some lines, or a part of one; each line has a second operand of its own if that is not constant."""
    if extent.w <= _ROWS:
        for high in range(1, extent.h + 1 if constant else 2):
            if high * extent.w <= _ROWS and (extent.h % high == 0 or high & (high - 1) == 0):
                yield high, extent.w
    for wide in (16, 32, 64, 128, 256):
        if wide < extent.w:
            yield 1, wide


def _divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


def ceil_power(number: int) -> int:
    """The power of two that is as large, or the next."""
    return 1 << max(0, number - 1).bit_length()
