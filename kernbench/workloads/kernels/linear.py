"""Matrix products of few tokens, in two launches: parts of a cube, and their sum with what follows.

Each PE has a block of the weight (`cuts`), which streams from its own memory once. It reads the features of the columns of its
block alone, and leaves a part of the rows. Then each PE adds up the parts of its own rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.cuts import Block, Grid
from kernbench.workloads.kernels.layout import CUBES, PES, own_rows
from kernbench.workloads.kernels.results import Extras, Rows

BLOCK_BYTES = 48 << 10  # of results in f32 at a time, of which scratch holds some twenty


class Sizes(NamedTuple):
    """Of a product on one SIP."""

    out: int
    features: int
    tokens: int


class Norm(NamedTuple):
    """A norm that a product finishes: sums of squares and of elements (columns of blocks, tokens). Pointers.

    The features of the product are cut over the PEs of a cube alone, so that each cube has all sums.
    """

    squares: int
    elements: int
    features: int
    eps: float
    shift_ptr: int = 0  # (out, 1): what each output takes of the mean; 0: a norm without a mean


def multiply(
    x_ptr: int,
    w_ptrs: tuple[int, ...],
    part_ptrs: tuple[int, ...],
    normal: tuple[int, int, int] | None,
    sizes: tuple[int, int, int],
    types: tuple[str, str],
    tile: tuple[int, int, int],
    cut: tuple[int, int],
    tl: Any,
) -> None:
    """The parts of y (out, tokens) = w (out, features) x (features, tokens), of one weight or of several that read one x.

    `normal` are pointers to the weights of a norm (features, 1) that x is taken times, and to the sums that finish it.
    `types` are of weights and of activations.
    """
    s, dtype = Sizes(*sizes), types[1]
    grid = Grid.of(tl, cut)
    block = grid.block(s.out, s.features, tl.program_id(CUBES), tl.program_id(PES))
    (top, bottom), (first, end) = block.rows, block.columns
    if first >= end:
        return
    x = tl.load(x_ptr + first * s.tokens * itemsize(dtype), (end - first, s.tokens), dtype)
    if normal:
        x = take_sums(tl, x, first, normal, dtype, tl.program_id(PES) % grid.cut.pes)
    for w_ptr, part_ptr in zip(w_ptrs, part_ptrs, strict=True):
        if top < bottom:
            shape = (bottom - top, end - first)
            weight = tl.ref(w_ptr + block.first * itemsize(types[0]), shape, types[0])
            into = part_ptr + block.slot * grid.slot_rows(s.out) * s.tokens * itemsize(dtype)
            tl.composite("gemm", weight, x, into, out_dtype=dtype, tile_shape=tile)
    tl.wait()


def finish(
    part_ptrs: tuple[int, ...],
    y_ptr: int,
    sizes: tuple[int, int, int],
    types: tuple[str, str],
    norm: Any,
    extras: tuple[Any, ...],
    cut: tuple[int, int],
    tl: Any,
) -> None:
    """y = the sum of the parts, with what follows; of two products the first is the gate of the second."""
    s, dtype = Sizes(*sizes), types[1]
    first, end = own_rows(tl, s.out)
    if first >= end:
        return
    grid = Grid.of(tl, cut)
    scale = find_scale(tl, Norm(*norm), s, grid.cut.pes) if norm else None
    rows = max(1, BLOCK_BYTES // (s.tokens * itemsize("f32")))
    for holders in grid.holders(s.out, s.features, (first, end)):
        begin, stop = max(first, holders[0].rows[0]), min(end, holders[0].rows[1])
        for top in range(begin, stop, rows):
            block = _Sums(tl, (top, min(stop, top + rows)), s, dtype)
            sums = [block.sum_parts(part_ptr, holders, grid.slot_rows(s.out)) for part_ptr in part_ptrs]
            if norm:
                sums = [block.normalise(each, scale, Norm(*norm)) for each in sums]
            tl.store(y_ptr + block.at, block.end(sums, Extras(*extras)))
            block.release()


class _Sums(Rows):
    """Some rows of a PE."""

    def __init__(self, tl: Any, rows: tuple[int, int], s: Sizes, dtype: str) -> None:
        super().__init__(tl, rows, s.tokens, rows[0] * s.tokens * itemsize(dtype), dtype)
        self.sizes = s

    def sum_parts(self, part_ptr: int, holders: list[Block], slot_rows: int) -> Any:
        """f32, summed over the blocks that have features of these rows."""
        tl, s = self.tl, self.sizes
        below = self.first - holders[0].rows[0]
        total = tl.zeros(self.shape, "f32")
        own = tl.program_id(CUBES) * tl.num_programs(PES) + tl.program_id(PES)
        for turn in range(len(holders)):  # PEs begin with different ones: they do not all read one memory at a time
            slot = holders[(own + turn) % len(holders)].slot
            at = (slot * slot_rows + below) * s.tokens * itemsize(self.dtype)
            total = self.keep(total + tl.load(part_ptr + at, self.shape, self.dtype), total)
        return total

    def normalise(self, y: Any, scale: Any, norm: Norm) -> Any:
        """y / deviation, less what the mean adds to it."""
        over, mean = scale
        y = self.keep(y * over, y)
        if mean is None:
            return y
        shift = self.column(norm.shift_ptr)
        taken = self.keep(self.tl.dot(shift, mean, out_dtype="f32"))
        return self.keep(y - taken, y, taken)


def take_sums(tl: Any, x: Any, first: int, normal: tuple[int, int, int], dtype: str, column: int) -> Any:
    """x times the weights of a norm; its sums over the features of this column of blocks are written."""
    rows, tokens = x.shape
    weight_ptr, squares_ptr, elements_ptr = normal
    ones = tl.full((1, rows), 1.0, dtype)
    mine = column * tokens * itemsize("f32")
    square = x * x
    tl.store(squares_ptr + mine, tl.dot(ones, square, out_dtype="f32"))
    tl.release(square)
    tl.store(elements_ptr + mine, tl.dot(ones, x, out_dtype="f32"))
    return x * tl.load(weight_ptr + first * itemsize(dtype), (rows, 1), dtype)


def find_scale(tl: Any, norm: Norm, s: Sizes, columns: int) -> tuple[Any, Any]:
    """1 / deviation of each token, (1, tokens), and its mean over its deviation; None for a norm without a mean."""
    share = 1.0 / norm.features
    busy = -(-s.features // -(-s.features // columns))  # columns of blocks that have features
    shape = (busy, s.tokens)
    squares = tl.sum(tl.load(norm.squares, shape, "f32"), axis=0) * share
    if not norm.shift_ptr:
        return tl.rsqrt(squares + norm.eps), None
    mean = tl.sum(tl.load(norm.elements, shape, "f32"), axis=0) * share
    over = tl.rsqrt(squares - mean * mean + norm.eps)
    return over, mean * over
