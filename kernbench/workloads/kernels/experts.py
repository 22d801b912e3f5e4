"""Mixtures of experts of few tokens each: the weights of those that have tokens stream once, from all PEs alike.

Each cube has some inner features of every expert: rows of gate and up, columns of down. Its PEs share the hidden features:
columns of gate and up, rows of down. So each PE reads as much as any other, whichever experts are chosen, and the inner
features never leave their cube. A *place* is a token at one of its experts; the places of an expert follow each other. The
host knows the routing before the step, so a kernel knows how many places each expert has.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES, Tile, find_tile, own_rows, rows_in_cube
from kernbench.workloads.kernels.linear import BLOCK_BYTES, Norm, Sizes, find_scale, take_sums
from kernbench.workloads.kernels.results import Extras, Rows, narrow

AHEAD = 4  # experts whose products are under way
PICK_BYTES = 1 << 14  # of rows from which those of experts are picked on the PE: more take long to fetch
SHARES_BYTES = 1 << 16  # of weights of places by token at a time


class Mixture(NamedTuple):
    """The sizes of the experts of one SIP."""

    features: int
    inner: int  # of a cube
    tokens: int
    places: int
    experts: int  # in memory
    loads: tuple[tuple[int, int, int], ...]  # expert, its first place, and how many
    types: tuple[str, str]  # of weights and of activations
    activation: str
    tile: Tile  # the machine's own

    @property
    def size(self) -> int:
        """Bytes of an element of activations."""
        return itemsize(self.types[1])


class Lists(NamedTuple):
    """Pointers to (places, 1), f32, in each cube; the weights are in one, in the type of activations."""

    numbers: int  # 0, 1, 2, ...
    tokens: int
    weights: int


def expand(
    x_ptr: int, w_ptrs: tuple[int, int], part_ptrs: tuple[int, int], normal: Any, lists: Any, m: Any, tl: Any
) -> None:
    """Parts of gate and of up, (places, inner) each, that the features of a PE give; x is (features, tokens).

    `normal` are pointers to the weights of a norm that x is taken times, and to the sums that finish it.
    """
    s = Mixture(*m)
    first, end = rows_in_cube(tl, s.features)
    if first >= end:
        return
    x = tl.load(x_ptr + first * s.tokens * s.size, (end - first, s.tokens), s.types[1])
    x = take_sums(tl, x, first, normal, s.types[1], tl.program_id(PES))
    stream, picks = _Stream(tl, s), _Picks(tl, s, Lists(*lists))
    own = (tl.program_id(CUBES) * tl.num_programs(PES) + tl.program_id(PES)) * s.places * s.inner * s.size
    for load in s.loads:
        _, place, count = load
        mine = x if count == s.tokens else picks.columns(x, load)
        for w_ptr, part_ptr in zip(w_ptrs, part_ptrs, strict=True):
            stream.multiply(
                tl.trans(mine), (s.inner, end - first), w_ptr, part_ptr + own + place * s.inner * s.size, load
            )
        stream.keep(None if count == s.tokens else mine)
    tl.wait()


def meet(part_ptrs: tuple[int, int], h_ptr: int, norm: tuple[Any, ...], lists: Any, m: Any, tl: Any) -> None:
    """h (places, inner of a cube) = activation(gate) x up, of the sums of their parts; each PE has some places."""
    s, here = Mixture(*m), Lists(*lists)
    first, end = rows_in_cube(tl, s.places)
    if first >= end:
        return
    over, _ = find_scale(tl, Norm(*norm), Sizes(s.inner, s.features, s.tokens), tl.num_programs(PES))
    rows = max(1, BLOCK_BYTES // (s.inner * itemsize("f32")))
    for top in range(first, end, rows):
        bottom = min(end, top + rows)
        at = (tl.program_id(CUBES) * s.places + top) * s.inner * s.size
        block = Rows(tl, (top, bottom), s.inner, at, s.types[1])
        tokens = tl.load(here.tokens + top * 4, (bottom - top, 1), "f32")
        mask = block.keep(tl.equal(tokens, tl.arange(0, s.tokens)))
        scale = block.keep(tl.dot(mask, tl.trans(over), out_dtype="f32"), mask)
        sums = [block.keep(_sum_parts(tl, part_ptr, top, bottom - top, s)) for part_ptr in part_ptrs]
        sums = [block.keep(each * scale, each) for each in sums]
        tl.store(h_ptr + at, block.end(sums, Extras(activation=s.activation)))
        block.release()


def _sum_parts(tl: Any, part_ptr: int, top: int, count: int, s: Mixture) -> Any:
    """f32 (count, inner), summed over the PEs of the cube."""
    pes, own = tl.num_programs(PES), tl.program_id(PES)
    busy = -(-s.features // -(-s.features // pes))
    total = tl.zeros((count, s.inner), "f32")
    for turn in range(busy):
        pe = tl.program_id(CUBES) * pes + (own + turn) % busy
        at = (pe * s.places + top) * s.inner * s.size
        before, total = total, total + tl.load(part_ptr + at, (count, s.inner), s.types[1])
        tl.release(before)
    return total


def contract(h_ptr: int, w_ptr: int, y_ptr: int, part_ptr: int, lists: Any, m: Any, tl: Any) -> None:
    """The part of y (features, tokens) that the inner features of a cube give, each PE its rows.

    Products of places go to the PE's own memory, `y`, and come back at once, to be weighed and added up by token.
    """
    s, here = Mixture(*m), Lists(*lists)
    first, end = rows_in_cube(tl, s.features)
    if first >= end:
        return
    h_ptr = h_ptr + tl.program_id(CUBES) * s.places * s.inner * s.size
    y_ptr = y_ptr + _own_block(tl, s, s.places * s.size)
    stream = _Stream(tl, s)
    for first_place, count, loads in _group_loads(s):
        whole = tl.load(h_ptr + first_place * s.inner * s.size, (count, s.inner), s.types[1])
        numbers = tl.load(here.numbers, (count, 1), "f32")
        for load in loads:
            _, place, mine = load
            x = _pick_rows(tl, whole, numbers, place - first_place, mine)
            stream.multiply(x, (end - first, s.inner), w_ptr, y_ptr + place * (end - first) * s.size, load)
            stream.keep(x)
    tl.wait()
    part = narrow(tl, _combine(tl, y_ptr, end - first, here, s), s.types[1])
    tl.store(part_ptr + (tl.program_id(CUBES) * s.features + first) * s.tokens * s.size, part)


def _group_loads(s: Mixture) -> list[tuple[int, int, list[tuple[int, int, int]]]]:
    """(first place, places, loads) of experts whose places are read at once."""
    found: list[tuple[int, int, list[tuple[int, int, int]]]] = []
    most = PICK_BYTES // (s.inner * s.size)
    for load in s.loads:
        if found and found[-1][1] + load[2] <= most:
            first, places, loads = found[-1]
            found[-1] = (first, places + load[2], [*loads, load])
        else:
            found.append((load[1], load[2], [load]))
    return found


def _pick_rows(tl: Any, h: Any, numbers: Any, first: int, count: int) -> Any:
    """(count, columns): rows of h from one on, by a product with ones and zeros where they are not all."""
    if count == h.shape[0]:
        return h
    mask = tl.equal(numbers, tl.arange(first, first + count))
    found = tl.dot(tl.trans(mask), h, out_dtype=h.dtype)
    tl.release(mask)
    return found


def _combine(tl: Any, y_ptr: int, rows: int, here: Lists, s: Mixture) -> Any:
    """f32 (rows, tokens): products of places (places, rows) times their weights, summed by token."""
    total: Any = None
    most = max(1, SHARES_BYTES // (s.tokens * s.size))
    for top in range(0, s.places, most):
        count = min(s.places, top + most) - top
        y = tl.load(y_ptr + top * rows * s.size, (count, rows), s.types[1])
        tokens = tl.load(here.tokens + top * 4, (count, 1), "f32")
        weights = tl.load(here.weights + top * s.size, (count, 1), s.types[1])
        hits = tl.equal(tokens, tl.arange(0, s.tokens))
        shares = hits * weights
        before, total = total, tl.dot(tl.trans(y), shares, total, out_dtype="f32")
        for spent in (hits, shares, *([before] if before is not None else ())):
            tl.release(spent)
    return total


def add_cubes(part_ptr: int, y_ptr: int, residual_ptr: int, features: int, tokens: int, dtype: str, tl: Any) -> None:
    """y = the sum of the parts (features, tokens) of all cubes, and the residual if there is one, over the PEs."""
    first, end = own_rows(tl, features)
    if first >= end:
        return
    cubes, own = tl.num_programs(CUBES), tl.program_id(CUBES)
    shape, at = (end - first, tokens), first * tokens * itemsize(dtype)
    total = tl.zeros(shape, "f32")
    for turn in range(cubes):  # each cube begins with another
        other = (own + turn) % cubes * features * tokens * itemsize(dtype)
        before, total = total, total + tl.load(part_ptr + other + at, shape, dtype)
        tl.release(before)
    if residual_ptr:
        total = total + tl.load(residual_ptr + at, shape, dtype)
    tl.store(y_ptr + at, narrow(tl, total, dtype))


def _own_block(tl: Any, s: Mixture, row_bytes: int) -> int:
    """Where the block of a PE begins, in bytes, in a tensor with as many rows for each PE as its first has features."""
    pe = tl.program_id(CUBES) * tl.num_programs(PES) + tl.program_id(PES)
    return pe * -(-s.features // tl.num_programs(PES)) * row_bytes


class _Stream:
    """Products of the weights of one expert after the other; the operands of a few are kept at a time."""

    def __init__(self, tl: Any, s: Mixture) -> None:
        self.tl, self.s = tl, s
        self.jobs: list[Any] = []
        self.ahead: deque[tuple[list[Any], Any]] = deque()

    def multiply(self, x: Any, shape: tuple[int, int], w_ptr: int, out_ptr: int, load: tuple[int, int, int]) -> None:
        """Start (places of an expert, rows) = x (places, columns) times its weight (rows, columns), in the PE's block."""
        tl, s, dtype = self.tl, self.s, self.s.types[0]
        (rows, columns), (expert, _, places) = shape, load
        at = _own_block(tl, s, s.experts * s.inner * itemsize(dtype)) + expert * rows * columns * itemsize(dtype)
        weight = tl.trans(tl.ref(w_ptr + at, shape, dtype))
        tile = find_tile(Tile(places, columns, rows), itemsize(dtype), "b", s.tile)
        self.jobs.append(tl.composite("gemm", x, weight, out_ptr, out_dtype=s.types[1], tile_shape=tile))

    def keep(self, x: Any) -> None:
        """The operand of the products begun since the last; it is released when they have ended."""
        self.ahead.append((self.jobs, x))
        self.jobs = []
        if len(self.ahead) > AHEAD:
            jobs, spent = self.ahead.popleft()
            for job in jobs:
                self.tl.wait(job)
            if spent is not None:
                self.tl.release(spent)


class _Picks:
    """Tokens and places of one expert, out of those of all, by products with ones and zeros."""

    def __init__(self, tl: Any, s: Mixture, here: Lists) -> None:
        self.tl, self.s = tl, s
        self.numbers = tl.load(here.numbers, (s.places, 1), "f32")
        self.each = tl.load(here.numbers, (s.tokens, 1), "f32")
        self.tokens = tl.load(here.tokens, (s.places, 1), "f32")

    def columns(self, x: Any, load: tuple[int, int, int]) -> Any:
        """(rows, places of the expert) of x (rows, tokens), a copy."""
        tl = self.tl
        mask = self._mask(load)
        tokens = tl.dot(tl.trans(self.tokens), mask, out_dtype="f32")
        hits = tl.equal(self.each, tokens)
        found = tl.dot(x, hits, out_dtype=x.dtype)
        for spent in (mask, tokens, hits):
            tl.release(spent)
        return found

    def _mask(self, load: tuple[int, int, int]) -> Any:
        """(places, places of the expert): 1 on a diagonal."""
        _, first, count = load
        return self.tl.equal(self.numbers, self.tl.arange(first, first + count))
