"""Matrix products of few tokens, in two launches: parts of a cube, and their sum with what follows.

Each cube has its own rows of a weight, each of its PEs some columns of those, which stream from the PE's own memory once. So a
PE reads the features of its columns alone, and the parts that the PEs of a cube add up never leave it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import part_of
from kernbench.workloads.kernels.layout import CUBES, PES, own_rows, rows_in_cube
from kernbench.workloads.kernels.results import Extras, Rows

BLOCK_BYTES = 48 << 10  # of results in f32 at a time, of which scratch holds some twenty


class Sizes(NamedTuple):
    """Of a product on one SIP."""

    out: int
    features: int
    tokens: int


class Norm(NamedTuple):
    """A norm that a product finishes: sums of squares and of elements (PEs of a cube, tokens). Pointers."""

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
    tl: Any,
) -> None:
    """The parts of y (out, tokens) = w (out, features) x (features, tokens), of one weight or of several that read one x.

    `normal` are pointers to the weights of a norm (features, 1) that x is taken times, and to the sums that finish it.
    `types` are of weights and of activations.
    """
    s, dtype = Sizes(*sizes), types[1]
    (top, bottom), (first, end) = _rows_of_cube(tl, s.out), rows_in_cube(tl, s.features)
    if first >= end:
        return
    x = tl.load(x_ptr + first * s.tokens * itemsize(dtype), (end - first, s.tokens), dtype)
    if normal:
        x = take_sums(tl, x, first, normal, dtype)
    for w_ptr, part_ptr in zip(w_ptrs, part_ptrs, strict=True):
        if top < bottom:
            shape = (bottom - top, end - first)
            at = (top * s.features + shape[0] * first) * itemsize(types[0])
            weight, place = tl.ref(w_ptr + at, shape, types[0]), _part_of(tl, s, tl.program_id(PES))
            tl.composite("gemm", weight, x, part_ptr + place * itemsize(dtype), out_dtype=dtype, tile_shape=tile)
    tl.wait()


def finish(
    part_ptrs: tuple[int, ...],
    y_ptr: int,
    sizes: tuple[int, int, int],
    types: tuple[str, str],
    norm: Any,
    extras: tuple[Any, ...],
    tl: Any,
) -> None:
    """y = the sum of the parts, with what follows; of two products the first is the gate of the second."""
    s, dtype = Sizes(*sizes), types[1]
    first, end = own_rows(tl, s.out)
    if first >= end:
        return
    scale = find_scale(tl, Norm(*norm), s) if norm else None
    rows = max(1, BLOCK_BYTES // (s.tokens * itemsize("f32")))
    for top in range(first, end, rows):
        block = _Block(tl, top, min(end, top + rows), s, dtype)
        sums = [block.sum_parts(part_ptr) for part_ptr in part_ptrs]
        if norm:
            sums = [block.normalise(each, scale, Norm(*norm)) for each in sums]
        tl.store(y_ptr + block.at, block.end(sums, Extras(*extras)))
        block.release()


class _Block(Rows):
    """Some rows of a PE."""

    def __init__(self, tl: Any, first: int, end: int, s: Sizes, dtype: str) -> None:
        super().__init__(tl, (first, end), s.tokens, first * s.tokens * itemsize(dtype), dtype)
        self.sizes = s

    def sum_parts(self, part_ptr: int) -> Any:
        """f32, summed over the PEs of the cube that had features."""
        tl, s = self.tl, self.sizes
        below = self.first - _rows_of_cube(tl, s.out)[0]
        total = tl.zeros(self.shape, "f32")
        busy, own = _busy(tl, s.features), tl.program_id(PES)
        for turn in range(busy):  # each PE begins with another, so that they do not all read one memory at a time
            at = (_part_of(tl, s, (own + turn) % busy) + below * s.tokens) * itemsize(self.dtype)
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


def _rows_of_cube(tl: Any, out: int) -> tuple[int, int]:
    return part_of((0, out), tl.program_id(CUBES), tl.num_programs(CUBES))


def _part_of(tl: Any, s: Sizes, pe: int) -> int:
    """The first element of the part of a PE of this cube, in a tensor (`rows_of_parts`, tokens) over PEs."""
    rows = -(-s.out // tl.num_programs(CUBES))
    return (tl.program_id(CUBES) * tl.num_programs(PES) + pe) * rows * s.tokens


def rows_of_parts(out: int, cubes: int, pes: int) -> int:
    """The rows of the tensor of all parts: as many for each PE."""
    return -(-out // cubes) * cubes * pes


def take_sums(tl: Any, x: Any, first: int, normal: tuple[int, int, int], dtype: str) -> Any:
    """x times the weights of a norm; its sums over the features of this PE are written."""
    rows, tokens = x.shape
    weight_ptr, squares_ptr, elements_ptr = normal
    ones = tl.full((1, rows), 1.0, dtype)
    mine = tl.program_id(PES) * tokens * itemsize("f32")
    square = x * x
    tl.store(squares_ptr + mine, tl.dot(ones, square, out_dtype="f32"))
    tl.release(square)
    tl.store(elements_ptr + mine, tl.dot(ones, x, out_dtype="f32"))
    return x * tl.load(weight_ptr + first * itemsize(dtype), (rows, 1), dtype)


def find_scale(tl: Any, norm: Norm, s: Sizes) -> tuple[Any, Any]:
    """1 / deviation of each token, (1, tokens), and its mean over its deviation; None for a norm without a mean."""
    share = 1.0 / norm.features
    shape = (_busy(tl, s.features), s.tokens)
    squares = tl.sum(tl.load(norm.squares, shape, "f32"), axis=0) * share
    if not norm.shift_ptr:
        return tl.rsqrt(squares + norm.eps), None
    mean = tl.sum(tl.load(norm.elements, shape, "f32"), axis=0) * share
    over = tl.rsqrt(squares - mean * mean + norm.eps)
    return over, mean * over


def _busy(tl: Any, features: int) -> int:
    """The PEs of a cube that have features."""
    pes = tl.num_programs(PES)
    return -(-features // -(-features // pes))
