"""How the PEs of a SIP share a product: the blocks of least time by a bound, among all that fit into scratch.

The bound of a choice is the longest of five times: of the matrix engine of a PE, of its TCM, which gives operands and sums to
the engine, of its reads, of its writes, and of the rows that come from other dies over the connection of a cube. What a block
pads counts as work, and so does what whole bursts bring for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from kernbench.workloads.kernels.windows import Blocks, Extent
from kernbench.workloads.sip.engine import Engine

STAGES = 3  # blocks of inner elements under way at once
_COLS = (16, 32, 64, 128, 256)
_INNER = (32, 64, 128, 256)
_ROWS = 512  # of a block at most
_SUM_BYTES = 4  # of an element of a sum
_SUMS = 4  # blocks of sums that live at once: before and after a product, and in the steps that follow
_SCRATCH_SHARE = 0.9


class Work(NamedTuple):
    """What is asked of a product: its extent, its inner elements, their bytes, and where its operands lie.

    `held_rows` are the rows of the result whose pixels of x one cube holds, `memory_rows` those that one memory does.
    `constant`: the second operand is weights, and each PE may have its own.
    """

    extent: Extent
    depth: int
    itemsize: int
    held_rows: int
    memory_rows: int
    constant: bool
    run: int  # inner elements that follow each other in memory
    lines_join: bool  # lines of pixels follow each other too
    w_rows: int = 0  # rows of the second operand that one memory holds; 0 of weights
    w_by_inner: bool = False  # its inner elements follow each other, else its columns do
    x_by_line: bool = True  # lines of x follow each other, else they lie beside each other as heads do


@cache
def choose_blocks(work: Work, engine: Engine) -> Blocks:
    """The blocks of a product."""
    return min(_list_blocks(work, engine), key=lambda one: bound_fs(one, work, engine))


def bound_fs(blocks: Blocks, work: Work, engine: Engine) -> float:
    """The least time of a PE, in femtoseconds."""
    rounds = -(-work.depth // blocks.inner)
    inner = rounds * blocks.inner
    tile_m, tile_k, tile_n = engine.tile
    flops = 2 * blocks.rows * inner * blocks.cols
    tiles = -(-blocks.rows // tile_m) * -(-blocks.cols // tile_n) * -(-blocks.inner // tile_k) * rounds
    fetched = tiles * (min(tile_m, blocks.rows) * tile_k + tile_k * min(tile_n, blocks.cols)) * work.itemsize
    fetched += rounds * blocks.rows * blocks.cols * _SUM_BYTES
    pixels, size = blocks.h * blocks.w, work.itemsize
    taken = max(1, engine.pes // blocks.col_parts) * blocks.row_blocks * pixels  # rows of a cube
    far_rows = find_far_rows(blocks, work, engine)
    far_share = 1 - (1 - min(1.0, far_rows / taken)) * min(1.0, work.extent.n * engine.pes / engine.all_pes)  # of one n
    if not work.x_by_line:
        far_rows = far_share * taken
    x_line, y_line = blocks.inner * size, _round_up(blocks.cols * size, engine.burst_bytes)
    if blocks.inner < work.extent.channels:
        x_line = _round_up(x_line, engine.burst_bytes)
    w_bytes, w_transfers_fs = _bound_second(blocks, work, engine, far_share > 0)
    read = (pixels * x_line + w_bytes) * rounds
    runs = (1 if work.lines_join else blocks.h) * -(-blocks.inner // work.run)
    transfers = max(runs, -(-pixels // work.memory_rows)) * (engine.far_read_fs if far_rows else engine.read_fs)
    each = max(
        flops / engine.flops_fs,
        fetched / engine.tcm_bytes_fs,
        read / engine.hbm_bytes_fs + (transfers + w_transfers_fs) * rounds,
        pixels * y_line / engine.hbm_bytes_fs,
    )
    own = blocks.row_blocks * blocks.col_blocks * (each + STAGES * engine.read_fs)
    far = far_rows * min(blocks.col_parts, engine.pes) * blocks.col_blocks * x_line
    if work.w_rows:
        far += far_share * engine.pes * blocks.row_blocks * blocks.col_blocks * w_bytes
    return max(own, far * rounds / engine.link_bytes_fs)


def _bound_second(blocks: Blocks, work: Work, engine: Engine, is_far: bool) -> tuple[int, int]:
    """The bytes of a block of the second operand, and the time of its transfers beside those."""
    size = work.itemsize
    if not work.w_rows:
        return blocks.cols * blocks.inner * size, engine.read_fs
    rows, line = (blocks.cols, blocks.inner) if work.w_by_inner else (blocks.inner, blocks.cols)
    trip_fs = engine.far_read_fs if is_far else engine.read_fs
    return rows * _round_up(line * size, engine.burst_bytes), -(-rows // work.w_rows) * trip_fs


def _round_up(number: int, to: int) -> int:
    return -(-number // to) * to


def find_far_rows(blocks: Blocks, work: Work, engine: Engine) -> int:
    """The most rows that a cube needs of those that others hold."""
    extent, parts = work.extent, max(1, engine.pes // blocks.col_parts)
    total, each = extent.n * extent.h * extent.w, blocks.row_blocks * blocks.h * blocks.w
    if work.held_rows >= total:
        return 0  # each cube has all
    most = 0
    for cube in range(engine.all_pes // engine.pes):
        first = cube * engine.pes // blocks.col_parts * each
        end = min(total, first + parts * each)
        near = min(end, (cube + 1) * work.held_rows) - max(first, cube * work.held_rows)
        most = max(most, end - first - max(0, near))
    return most


def _list_blocks(work: Work, engine: Engine) -> Iterator[Blocks]:
    extent, depth, itemsize, constant = work.extent, work.depth, work.itemsize, work.constant
    room = engine.scratch_bytes * _SCRATCH_SHARE
    widest = ceil_power(extent.cols)
    for cols in [one for one in _COLS if one <= widest] or [_COLS[0]]:
        columns = extent.groups * -(-extent.cols // cols)
        for high, wide in _list_pixels(extent, constant):
            rows = max(16, ceil_power(high * wide))
            for inner in [one for one in _INNER if one <= max(_INNER[0], ceil_power(depth))]:
                held = (STAGES + 1) * (rows + cols) * inner * itemsize + _SUMS * rows * cols * _SUM_BYTES
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
