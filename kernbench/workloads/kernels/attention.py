"""Attention of one new token of each sequence: keys and values stream from the memory in which they lie, once.

A *pair* is a head of keys and values of one sequence. Where PEs outnumber pairs, the context of a pair is cut into `splits`
parts, a *unit* each, and merged afterwards (T. Dao et al., "Flash-Decoding", 2023). The rotation of positions is a matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.host.memory.placement import part_of
from kernbench.workloads.kernels.layout import Tile, find_tile, own_rows
from kernbench.workloads.kernels.results import narrow, soft_cap_steps

MERGED_BYTES = 128 << 10  # of the outputs of units in f32 at a time


class Decode(NamedTuple):
    """The sizes of attention on one SIP."""

    tokens: int  # one a sequence
    keys: int  # heads of keys and values
    group: int  # heads of queries of each
    size: int  # elements of a head
    context: int  # tokens of the cache, the new one last
    splits: int
    dtype: str  # of activations
    cache_dtype: str
    eps: float
    tile: Tile  # the machine's own
    soft_cap: float = 0.0  # of scores; 0: none

    @property
    def pairs(self) -> int:
        """Heads of keys and values of all sequences."""
        return self.keys * self.tokens

    @property
    def part(self) -> int:
        """Tokens of a unit; the last may have fewer."""
        return -(-self.context // self.splits)


class Tables(NamedTuple):
    """Pointers to constants: `identity` (tokens, tokens), `lanes` (group, group), and (size, size) or 0 for no rotation."""

    identity: int
    lanes: int
    rotation: int
    q_norm: int = 0
    k_norm: int = 0


def attend(
    qkv_ptr: int,
    cache: tuple[int, int],
    out_ptr: int,
    parts: tuple[int, int],
    tables: tuple[int, ...],
    sizes: tuple[Any, ...],
    tl: Any,
) -> None:
    """Each PE its own units. `qkv` has rows of all heads of queries, of keys, of values; `cache` is keys and values by unit.

    The output has (group, size) of each unit. With splits the largest score and the sum of weights go to `parts`.
    """
    a = Decode(*sizes)
    first, end = own_rows(tl, a.pairs * a.splits)
    if first >= end:
        return
    state = _Unit(tl, qkv_ptr, Tables(*tables), a)
    for unit in range(first, end):
        pair, split = divmod(unit, a.splits)
        begin, stop = part_of((0, a.context), split, a.splits)
        if begin >= stop:
            continue
        head, token = divmod(pair, a.tokens)
        query = state.query(head, token)
        if stop == a.context:
            state.append(head, token, unit, a.context - 1 - begin, cache)
        _attend_unit(tl, state.keep, query, cache, unit, stop - begin, out_ptr, parts, a)
        state.keep.release()


class _Results:
    """Results in scratch, which are released together."""

    def __init__(self, tl: Any) -> None:
        self._tl = tl
        self._made: dict[int, Any] = {}

    def __call__(self, made: Any) -> Any:
        """Note a result."""
        self._made[id(made)] = made
        return made

    def release(self) -> None:
        """Release all that were noted."""
        for each in self._made.values():
            self._tl.release(each)
        self._made.clear()


def _attend_unit(
    tl: Any,
    keep: _Results,
    query: Any,
    cache: tuple[int, int],
    unit: int,
    count: int,
    out_ptr: int,
    parts: tuple[int, int],
    a: Decode,
) -> None:
    at = unit * a.part * a.size * itemsize(a.cache_dtype)
    keys = tl.ref(cache[0] + at, (count, a.size), a.cache_dtype)
    size = itemsize(a.cache_dtype)
    tile = find_tile(Tile(count, a.size, a.group), size, "a", a.tile)
    steps = soft_cap_steps(a.soft_cap)
    job = tl.composite("gemm", keys, tl.trans(query), out_dtype="f32", epilogue=steps, tile_shape=tile)
    tl.wait(job)
    largest = keep(tl.max(job.out, axis=0))
    below = job.out - largest
    tl.release(job.out)
    weights = keep(tl.exp(below))
    tl.release(below)
    total = keep(tl.sum(weights, axis=0))
    values = tl.ref(cache[1] + at, (count, a.size), a.cache_dtype)
    over = [{"op": "mul", "operand": tl.trans(keep(1.0 / total))}]
    tile = find_tile(Tile(a.group, count, a.size), size, "b", a.tile)
    mean = tl.composite("gemm", tl.trans(weights), values, out_dtype=a.dtype, epilogue=over, tile_shape=tile)
    tl.wait(mean)
    tl.store(out_ptr + unit * a.group * a.size * itemsize(a.dtype), keep(mean.out))
    if a.splits > 1:
        tl.store(parts[0] + unit * a.group * 4, largest)
        tl.store(parts[1] + unit * a.group * 4, total)


def merge(values_ptr: int, parts: tuple[int, int], out_ptr: int, sizes: tuple[Any, ...], tl: Any) -> None:
    """The units of a pair become its output."""
    a = Decode(*sizes)
    first, end = own_rows(tl, a.pairs)
    used = -(-a.context // a.part)  # the last splits may be empty
    rows = max(1, MERGED_BYTES // (a.group * a.size * itemsize("f32")))
    width, keep = a.group * a.size * itemsize(a.dtype), _Results(tl)
    for pair in range(first, end):
        units = pair * a.splits
        top, weight = _weigh(tl, keep, parts, units, used, a)
        whole = keep(tl.sum(weight, axis=0))
        merged: Any = None
        for begin in range(0, used, rows):
            count = min(rows, used - begin)
            if count < used:
                weight = _weigh(tl, keep, parts, units + begin, count, a, top)[1]
            values = tl.load(values_ptr + (units + begin) * width, (count, a.group, a.size), a.dtype)
            product = values * keep(weight / whole)
            part = keep(tl.sum(product, axis=0))
            tl.release(product)
            merged = part if merged is None else keep(merged + part)
        tl.store(out_ptr + pair * width, keep(narrow(tl, merged, a.dtype)))
        keep.release()


def _weigh(
    tl: Any, keep: _Results, parts: tuple[int, int], unit: int, count: int, a: Decode, top: Any = None
) -> tuple[Any, Any]:
    """The largest scores of some units, and the weight of each unit beside `top`, or beside the largest of them."""
    at, shape = unit * a.group * itemsize("f32"), (count, a.group, 1)
    largest = tl.load(parts[0] + at, shape, "f32")
    total = tl.load(parts[1] + at, shape, "f32")
    top = keep(tl.max(largest, axis=0)) if top is None else top
    return top, keep(total * keep(tl.exp(keep(largest - top))))


class _Unit:
    """The queries, keys and values of one head that a PE reads, once for all of its units of that head.

    What is made of them for one unit is noted in `keep`.
    """

    def __init__(self, tl: Any, qkv_ptr: int, tables: Tables, a: Decode) -> None:
        self.keep = _Results(tl)
        self.tl, self.ptr, self.tables, self.a = tl, qkv_ptr, tables, a
        self.rotation = tl.load(tables.rotation, (a.size, a.size), a.dtype) if tables.rotation else None
        size = itemsize(a.dtype)
        self.lanes = [tl.load(tables.lanes + g * a.group * size, (a.group, 1), a.dtype) for g in range(a.group)]
        self.rows: dict[int, Any] = {}
        self.picks: dict[int, Any] = {}

    def query(self, head: int, token: int) -> Any:
        """(group, size): the queries of a pair, scaled."""
        tl, a = self.tl, self.a
        found: Any = None
        for g in range(a.group):
            row = self._row(head * a.group + g, token)
            found = self.keep(tl.dot(self.lanes[g], row) if found is None else tl.dot(self.lanes[g], row, found))
        return self.keep(self._place(found, self.tables.q_norm) * a.size**-0.5)

    def append(self, head: int, token: int, unit: int, place: int, cache: tuple[int, int]) -> None:
        """Write the new key and value of a pair behind those that the cache has."""
        tl, a = self.tl, self.a
        at = (unit * a.part + place) * a.size * itemsize(a.cache_dtype)
        key = self._place(self._row(a.keys * a.group + head, token), self.tables.k_norm)
        tl.store(cache[0] + at, self.keep(narrow(tl, key, a.cache_dtype)))
        value = self._row(a.keys * (a.group + 1) + head, token)
        tl.store(cache[1] + at, self.keep(narrow(tl, value, a.cache_dtype)))

    def _row(self, head: int, token: int) -> Any:
        """(1, size): a token of a head."""
        tl, a = self.tl, self.a
        size = itemsize(a.dtype)
        if head not in self.rows:
            at = head * a.size * a.tokens * size
            self.rows[head] = tl.load(self.ptr + at, (a.size, a.tokens), a.dtype)
        if a.tokens == 1:
            return tl.trans(self.rows[head])
        if token not in self.picks:
            self.picks[token] = tl.load(self.tables.identity + token * a.tokens * size, (1, a.tokens), a.dtype)
        return self.keep(tl.dot(self.picks[token], tl.trans(self.rows[head])))

    def _place(self, x: Any, norm_ptr: int) -> Any:
        """Normalise and rotate."""
        tl, a = self.tl, self.a
        if norm_ptr:
            keep = self.keep
            mean = keep(tl.sum(keep(keep(x * x) * (1.0 / a.size)), axis=1))
            over = keep(tl.rsqrt(keep(mean + a.eps)))
            x = keep(keep(x * over) * tl.load(norm_ptr, (1, a.size), a.dtype))
        return x if self.rotation is None else self.keep(tl.dot(x, self.rotation))
