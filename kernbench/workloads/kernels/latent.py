"""Latent attention of one new token of each sequence, in its absorbed form (DeepSeek-V2, arXiv 2405.04434, section 2.1).

The cache has one row for each token, of `rank` elements and of `rotary` ones with positions, which all heads share. The matrix
that makes keys of a row is applied to queries instead, and that which makes values to the mean of rows. A *unit* is a sequence
and a part of its context; the queries of a sequence lie in each cube that has a unit of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import part_of
from kernbench.workloads.kernels.layout import CUBES, Tile, find_tile, own_rows, rows_in_cube
from kernbench.workloads.kernels.results import narrow

MOST_HEADS = 32  # that are merged at a time


class Latents(NamedTuple):
    """The sizes of latent attention on one SIP."""

    tokens: int  # one a sequence
    heads: int
    rank: int
    rotary: int
    plain: int
    value: int
    context: int  # tokens of the cache, the new one last
    splits: int
    slots: int  # sequences whose queries a cube has
    types: tuple[str, str, str]  # of weights, of activations, of the cache
    eps: float
    tile: Tile  # the machine's own

    @property
    def dtype(self) -> str:
        """The type of activations."""
        return self.types[1]

    @property
    def size(self) -> int:
        """Bytes of an element of activations."""
        return itemsize(self.types[1])

    @property
    def part(self) -> int:
        """Tokens of a unit; the last may have fewer."""
        return -(-self.context // self.splits)

    def list_sequences(self, cube: int, cubes: int) -> range:
        """The sequences of which a cube has units."""
        first, end = part_of((0, self.tokens * self.splits), cube, cubes)
        return range(first // self.splits, -(-end // self.splits)) if first < end else range(0)


class Tables(NamedTuple):
    """Pointers to constants in each cube: `numbers` 0, 1, 2, ... in f32, `rotation` (rotary, rotary), and `norm` (1, rank)."""

    numbers: int
    rotation: int
    norm: int


def absorb(
    q_ptr: int, w_ptr: int, out_ptrs: tuple[int, int], tables: tuple[int, ...], m: tuple[Any, ...], tl: Any
) -> None:
    """Queries as rows of the cache: of q (heads x (plain + rotary), tokens), scaled, to the cubes that attend with them.

    `w` has (rank, plain) of each head, over PEs. The outputs are (cube, sequence, head, rank) and the same of rotary elements.
    """
    s, t = Latents(*m), Tables(*tables)
    first, end = own_rows(tl, s.heads * s.rank)
    if first >= end:
        return
    send = _Send(tl, s, t)
    for head in range(first // s.rank, -(-end // s.rank)):
        top, bottom = max(first, head * s.rank), min(end, (head + 1) * s.rank)
        at = q_ptr + head * (s.plain + s.rotary) * s.tokens * s.size
        q = tl.load(at, (s.plain, s.tokens), s.dtype) * (s.plain + s.rotary) ** -0.5
        wide = itemsize(s.types[0])
        w = tl.ref(w_ptr + top * s.plain * wide, (bottom - top, s.plain), s.types[0])
        tile = find_tile(Tile(bottom - top, s.plain, s.tokens), wide, "a", s.tile)
        job = tl.composite("gemm", w, q, out_dtype=s.dtype, tile_shape=tile)
        tl.wait(job)
        send.rows(tl.trans(job.out), out_ptrs[0], (head, s.rank), top - head * s.rank)
        if top == head * s.rank:
            turned = tl.load(at + s.plain * s.tokens * s.size, (s.rotary, s.tokens), s.dtype)
            turned = turned * (s.plain + s.rotary) ** -0.5
            turned = tl.dot(tl.trans(turned), tl.load(t.rotation, (s.rotary, s.rotary), s.dtype), out_dtype=s.dtype)
            send.rows(turned, out_ptrs[1], (head, s.rotary), 0)


class _Send:
    """Rows of tokens to the cubes that have units of them."""

    def __init__(self, tl: Any, s: Latents, t: Tables) -> None:
        self.tl, self.s = tl, s
        self.numbers = tl.load(t.numbers, (1, s.tokens), "f32")
        cubes = [s.list_sequences(cube, tl.num_programs(CUBES)) for cube in range(tl.num_programs(CUBES))]
        self.homes = [
            [(cube, token - has.start) for cube, has in enumerate(cubes) if token in has] for token in range(s.tokens)
        ]

    def rows(self, x: Any, out_ptr: int, of: tuple[int, int], first: int) -> None:
        """Store x (tokens, columns) from column `first` on of the rows of a head, `of`, of some width."""
        tl, s, (head, width) = self.tl, self.s, of
        for token, homes in enumerate(self.homes):
            row = pick_row(tl, x, self.numbers, token)
            for cube, slot in homes:
                at = ((cube * s.slots + slot) * s.heads + head) * width + first
                tl.store(out_ptr + at * s.size, row)
            if row is not x:
                tl.release(row)


def pick_row(tl: Any, x: Any, numbers: Any, row: int) -> Any:
    """(1, columns): a row of x (rows, columns)."""
    if x.shape[0] == 1:
        return x
    mask = tl.equal(numbers, float(row))
    found = tl.dot(mask, x, out_dtype=x.dtype)
    tl.release(mask)
    return found


def attend_latent(
    kv_ptr: int,
    cache: tuple[int, int],
    q_ptrs: tuple[int, int],
    out_ptrs: tuple[int, int],
    tables: tuple[int, ...],
    m: tuple[Any, ...],
    tl: Any,
) -> None:
    """Each PE its own units: the mean of rows (heads, rank), with the largest score and the sum of weights (heads, 2).

    `kv` (rank + rotary, tokens), in each cube, has the new rows; they are written to the cache first.
    """
    s, t = Latents(*m), Tables(*tables)
    first, end = own_rows(tl, s.tokens * s.splits)
    has = s.list_sequences(tl.program_id(CUBES), tl.num_programs(CUBES))
    q: tuple[int, Any, Any] | None = None
    for unit in range(first, end):
        token, split = divmod(unit, s.splits)
        begin, stop = part_of((0, s.context), split, s.splits)
        if begin >= stop:
            continue
        if stop == s.context:
            _append(tl, kv_ptr, cache, token, unit * s.part + s.context - 1 - begin, s, t)
        if q is None or q[0] != token:
            row = (tl.program_id(CUBES) * s.slots + token - has.start) * s.heads * s.size
            shapes = zip(q_ptrs, (s.rank, s.rotary), strict=True)
            q = (token, *(tl.load(ptr + row * width, (s.heads, width), s.dtype) for ptr, width in shapes))
        _attend_unit(tl, q[1:], cache, unit, stop - begin, out_ptrs, s)


def _append(tl: Any, kv_ptr: int, cache: tuple[int, int], token: int, place: int, s: Latents, t: Tables) -> None:
    """Write the new row of a sequence behind those that the cache has."""
    numbers, wide = tl.load(t.numbers, (1, s.tokens), "f32"), itemsize(s.types[2])
    row = pick_row(tl, tl.trans(tl.load(kv_ptr, (s.rank, s.tokens), s.dtype)), numbers, token)
    mean = tl.sum(row * row * (1.0 / s.rank), axis=1)
    row = row * tl.rsqrt(mean + s.eps) * tl.load(t.norm, (1, s.rank), s.dtype)
    tl.store(cache[0] + place * s.rank * wide, narrow(tl, row, s.types[2]))
    at = kv_ptr + s.rank * s.tokens * s.size
    row = pick_row(tl, tl.trans(tl.load(at, (s.rotary, s.tokens), s.dtype)), numbers, token)
    row = tl.dot(row, tl.load(t.rotation, (s.rotary, s.rotary), s.dtype), out_dtype=s.dtype)
    tl.store(cache[1] + place * s.rotary * wide, narrow(tl, row, s.types[2]))


def _attend_unit(
    tl: Any, q: tuple[Any, ...], cache: tuple[int, int], unit: int, count: int, out_ptrs: tuple[int, int], s: Latents
) -> None:
    at = unit * s.part * itemsize(s.types[2])
    rows = tl.load(cache[0] + at * s.rank, (count, s.rank), s.types[2])
    turned = tl.load(cache[1] + at * s.rotary, (count, s.rotary), s.types[2])
    part = tl.dot(rows, tl.trans(q[0]), out_dtype="f32")
    scores = tl.dot(turned, tl.trans(q[1]), part)
    tl.release(part)
    largest = tl.max(scores, axis=0)
    less = scores - largest
    tl.release(scores)
    weights = tl.exp(less)
    tl.release(less)
    total = tl.sum(weights, axis=0)
    shares = weights * (1.0 / total)
    tl.release(weights)
    thin = narrow(tl, shares, s.dtype)
    out = tl.dot(tl.trans(thin), rows, out_dtype=s.dtype)
    tl.store(out_ptrs[0] + unit * s.heads * s.rank * s.size, out)
    pair = tl.arange(0, 2)
    stats = tl.trans(largest) * tl.equal(pair, 0) + tl.trans(total) * tl.equal(pair, 1)
    tl.store(out_ptrs[1] + unit * s.heads * 2 * 4, stats)
    for spent in {id(one): one for one in (shares, thin, out, stats)}.values():
        tl.release(spent)


def merge_latent(units: tuple[int, int], out_ptr: int, tables: tuple[int, ...], m: tuple[Any, ...], tl: Any) -> None:
    """The units of each sequence become one mean, each PE for some heads: (head, sequence, rank)."""
    s, t = Latents(*m), Tables(*tables)
    first, end = own_rows(tl, s.tokens * s.heads)
    while first < end:
        token, head = divmod(first, s.heads)
        count = min(end - first, s.heads - head, MOST_HEADS)
        numbers = tl.load(t.numbers, (1, count), "f32")
        found = _merge_heads(tl, units, (token, head, count), s)
        for row in range(count):
            mine = pick_row(tl, found, numbers, row)
            tl.store(out_ptr + ((head + row) * s.tokens + token) * s.rank * s.size, mine)
            if mine is not found:
                tl.release(mine)
        tl.release(found)
        first += count


def _merge_heads(tl: Any, units: tuple[int, int], block: tuple[int, int, int], s: Latents) -> Any:
    """(heads, rank): the mean of the means of units, by their weights; `block` is a sequence, its first head, and how many."""
    token, head, count = block
    used = -(-s.context // s.part)  # the last splits may be empty
    places = [(token * s.splits + split) * s.heads + head for split in range(used)]
    pair = tl.arange(0, 2)
    stats = [tl.load(units[1] + at * 2 * 4, (count, 2), "f32") for at in places]
    largest = [tl.sum(each * tl.equal(pair, 0), axis=1) for each in stats]
    top = largest[0]
    for each in largest[1:]:
        top = tl.maximum(top, each)
    sums = [
        tl.sum(each * tl.equal(pair, 1), axis=1) * tl.exp(most - top) for each, most in zip(stats, largest, strict=True)
    ]
    whole = sums[0]
    for each in sums[1:]:
        whole = whole + each
    found = tl.zeros((count, s.rank), "f32")
    for at, weight in zip(places, sums, strict=True):
        values = tl.load(units[0] + at * s.rank * s.size, (count, s.rank), s.dtype) * (weight / whole)
        before, found = found, found + values
        tl.release(before)
        tl.release(values)
    thin = narrow(tl, found, s.dtype)
    if thin is not found:
        tl.release(found)
    return thin


def expand_values(x_ptr: int, w_ptr: int, y_ptr: int, m: tuple[Any, ...], tl: Any) -> None:
    """y (heads x value, tokens) = w (value, rank) of each head, over PEs, times its x (tokens, rank)."""
    s = Latents(*m)
    first, end = own_rows(tl, s.heads * s.value)
    if first >= end:
        return
    wide = itemsize(s.types[0])
    for head in range(first // s.value, -(-end // s.value)):
        top, bottom = max(first, head * s.value), min(end, (head + 1) * s.value)
        x = tl.load(x_ptr + head * s.tokens * s.rank * s.size, (s.tokens, s.rank), s.dtype)
        w = tl.ref(w_ptr + top * s.rank * wide, (bottom - top, s.rank), s.types[0])
        tile = find_tile(Tile(bottom - top, s.rank, s.tokens), wide, "a", s.tile)
        out_ptr = y_ptr + top * s.tokens * s.size
        tl.composite("gemm", w, tl.trans(x), out_ptr, out_dtype=s.dtype, tile_shape=tile)
    tl.wait()


def spread_part(x_ptr: int, y_ptr: int, span: tuple[int, int], tokens: int, dtype: str, tl: Any) -> None:
    """Rows of a span of x (rows, tokens), which lies over all PEs, to the copy of each cube; its PEs bring some each."""
    first, end = rows_in_cube(tl, span[1] - span[0])
    if first < end:
        size = itemsize(dtype)
        part = tl.load(x_ptr + (span[0] + first) * tokens * size, (end - first, tokens), dtype)
        tl.store(y_ptr + first * tokens * size, part)
