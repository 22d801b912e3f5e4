"""Attention of decode: a token of each sequence behind its cache, which lies in DRAM.

A unit is a sequence, a head of keys, and at most 32 heads of queries, each in a row; units are dealt over all cores. Where
cores are more than units, each has a part of the context of one, and one brings the parts together. Positions are one matrix.
Features of a head are in an order in which those that turn together are neighbours, so this matrix has blocks of 2 x 2 on its
diagonal, and a tile of a head is turned by one tile. Weights and caches have that order, by which scores do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernbench.tanto.api import INPUT, INTERMED, MATH, OUTPUT, READER, WRITER, Global, Local, Semaphore
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles
from kernbench.workloads.numbers import rotation
from kernbench.workloads.tensix.chip import (
    ACTIVATIONS,
    SLOTS_FORMAT,
    Builder,
    Chip,
    Core,
    Shards,
    page_tiles,
    parts_of,
)

Make = Callable[[], np.ndarray]
CHUNK = 32  # tiles of keys or values that come at a time, at most
CONSTANTS = 5  # tiles beside those that turn
NEVER = -1e30  # a score of a token that is not there


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of attention in a layer."""

    sequences: int
    keys: int  # heads of keys and values
    group: int  # heads of queries to each
    size: int  # elements of a head
    context: int  # tokens, the new one among them
    rotary: int
    position: int  # of the new token

    @property
    def head_tiles(self) -> int:
        """Tiles of a head."""
        return self.size // SIDE

    @property
    def context_tiles(self) -> int:
        """Tiles of the context."""
        return parts_of(self.context, SIDE)

    @property
    def subs(self) -> int:
        """Units that have the same keys and values."""
        return parts_of(self.group, SIDE)

    @property
    def place(self) -> int:
        """The row of the new token in the last tile of the context."""
        return (self.context - 1) % SIDE

    def order(self) -> np.ndarray:
        """int64[size] the feature of a head that is at each place."""
        half = self.rotary // 2
        pairs = np.arange(half)[:, None] + np.array([0, half])
        return np.concatenate([pairs.reshape(-1), np.arange(2 * half, self.size)])


class Cache:
    """Keys and values of a layer in DRAM: of each sequence and head the tiles of its tokens."""

    def __init__(
        self, chip: Chip, sizes: Sizes, dtype: str, keys: Callable[[], np.ndarray], values: Callable[[], np.ndarray]
    ) -> None:
        self.chip, self.sizes, self.dtype = chip, sizes, dtype
        count = sizes.sequences * sizes.keys * sizes.context_tiles * sizes.head_tiles
        page = page_tiles(
            find_format(dtype), int(chip.device.machine.figures["tensix_noc.packet_bytes"]), sizes.head_tiles
        )
        self.keys, self.values = (
            Global(chip.device, dtype, count * TILE, (page * TILE).bit_length() - 1) for _ in range(2)
        )
        chip.fill(self.keys, lambda: self._tiles(keys()[..., sizes.order()]))
        chip.fill(self.values, lambda: self._tiles(values()))

    def _tiles(self, old: np.ndarray) -> np.ndarray:
        """The tiles of float32[head, sequence, token, element] of the tokens before the new one."""
        s = self.sizes
        whole = np.zeros((s.sequences, s.keys, s.context_tiles * SIDE, s.size), np.float32)
        whole[:, :, : s.context - 1] = old.swapaxes(0, 1)
        return np.concatenate([matrix_to_tiles(one) for one in whole.reshape(-1, *whole.shape[2:])])


def make_constants(chip: Chip, sizes: Sizes) -> Global:
    """Tiles for `attend.cpp`.

    They turn queries, and scale their scores; turn keys; put a first row to that of the new token; then ones, a mask, zeros,
    and an identity.
    """
    s, n = sizes, sizes.head_tiles

    def make() -> np.ndarray:
        order = s.order()
        turned = rotation(s.size, s.rotary, s.position) if s.rotary else np.eye(s.size, dtype=np.float32)
        turned = turned[np.ix_(order, order)]
        blocks = [turned[at : at + SIDE, at : at + SIDE] for at in range(0, s.size, SIDE)]
        select, mask = np.zeros((SIDE, SIDE), np.float32), np.zeros((SIDE, SIDE), np.float32)
        select[s.place, 0] = 1
        mask[:, s.place + 1 :] = NEVER
        scaled = [block / np.float32(np.sqrt(s.size)) for block in blocks]
        ones, identity = np.ones((SIDE, SIDE), np.float32), np.eye(SIDE, dtype=np.float32)
        return np.concatenate([*scaled, *blocks, select, ones, mask, np.zeros_like(mask), identity], axis=1)

    return chip.tiles(make, 1, 2 * n + CONSTANTS)


class Dealt(NamedTuple):
    """What a core does: units from one on, or a part of the context of one.

    Of a part: whether the new token is in it, and how many it collects, its own among them; 0 for those that do not collect.
    """

    first_unit: int
    step: int
    first_tile: int
    tiles: int  # of the context
    has_new: bool
    collects: int  # of whole units 1
    part: int
    collector: Core


def deal(sizes: Sizes, cores: Sequence[Core]) -> dict[Core, Dealt]:
    """What each core does: whole units in turn, or where cores are more than units, parts of the context of one."""
    s, units = sizes, sizes.sequences * sizes.keys * sizes.subs
    own = parts_of(s.context_tiles, max(1, len(cores) // units))
    parts = parts_of(s.context_tiles, own)
    if parts == 1:
        used = cores[:units]
        return {core: Dealt(at, len(used), 0, s.context_tiles, True, 1, 0, core) for at, core in enumerate(used)}
    found: dict[Core, Dealt] = {}
    for unit in range(units):
        mine = cores[unit * parts : (unit + 1) * parts]
        for part, core in enumerate(mine):
            first = part * own
            tiles, is_last = min(own, s.context_tiles - first), part == parts - 1
            found[core] = Dealt(unit, units, first, tiles, is_last, parts * (part == 0), part, mine[0])
    return found


def attend(rows: Shards, cache: Cache, constants: Global, y: Shards) -> None:
    """y = attention of the new tokens, whose queries, keys and values are `rows`; both have 32 rows of elements.

    The new keys and values are in the cache after that.
    """
    chip, s = cache.chip, cache.sizes
    dealt = deal(s, chip.every_core())
    units, n = s.sequences * s.keys * s.subs, s.head_tiles
    parts = max(one.collects for one in dealt.values())
    longest = max(one.tiles for one in dealt.values())
    splits = int(parts > 1)
    made = Builder(chip, "attention", list(dealt))
    kept = SLOTS_FORMAT.bytes_of((2 * longest + 32 * n + CONSTANTS + (2 * n + 6) * parts) * TILE)
    ahead = max(0, chip.l1_bytes - kept) // (
        4 * find_format(cache.dtype).bytes_of(n * TILE)
    )  # of keys, of values, twice each
    chunk = max(1, min(longest, CHUNK // n, ahead))
    pq, pkey, pvalue = (made.pipe(INPUT, n, 2) for _ in range(3))
    pconstant = made.pipe(INPUT, 2 * n + CONSTANTS)
    pold = [made.pipe(INPUT, n, 2, cache.dtype) for _ in range(2)]
    pk, pv = (made.pipe(INPUT, chunk * n, 2, cache.dtype) for _ in range(2))
    tiles = [made.pipe(INTERMED, n) for _ in range(5)]  # of queries, turned, of keys, turned, of values
    plast = [made.pipe(INTERMED, n, dtype=cache.dtype) for _ in range(2)]
    pnew = [made.pipe(OUTPUT, n, 2, cache.dtype) for _ in range(2)]
    pscore, pweight = made.pipe(INTERMED, longest), made.pipe(INTERMED, longest)
    plast_score, plargest, ptotal = (made.pipe(INTERMED, 1) for _ in range(3))
    psum, pmean = made.pipe(INTERMED, n), made.pipe(INTERMED, n)
    prows = made.pipe(OUTPUT, n, 2)
    gathered = Local(made.program, made.grid, ACTIVATIONS, (n + 2) * parts * TILE if splits else TILE)
    ppart = made.pipe(OUTPUT, n + 2) if splits else prows
    pparts = made.pipe(INPUT, (n + 2) * parts, local=gathered) if splits else prows
    pscale, pscaled = (made.pipe(INTERMED, parts) if splits else prows for _ in range(2))
    ready = Semaphore(made.program, made.grid)
    reader, writer = made.kernel(READER, "attend_read.cpp", splits), made.kernel(WRITER, "attend_write.cpp", splits)
    math = made.kernel(MATH, "attend.cpp", s.subs, int(s.context % SIDE != 0), splits)
    shape = [s.keys, s.group, s.subs, n, s.context_tiles, chunk]
    brought = [pq, pkey, pvalue, pconstant, *pold, pk]
    for core, one in dealt.items():
        turn = [one.first_unit, units, one.step]
        range_of = [one.first_tile, one.tiles - one.has_new, int(one.has_new), one.collects]
        given = [rows.local, constants, cache.keys, cache.values, *brought, pparts, ready, *turn, *shape, *range_of]
        reader.set_args(core, [*given, 2 * n + CONSTANTS, rows.own * SIDE, *chip.owners(rows.cores)])
        place = [one.part, *chip.places.physical(one.collector)]
        given = [y.local, cache.keys, cache.values, pv, *pnew, prows, ppart, gathered, ready, *turn, *shape, *range_of]
        writer.set_args(core, [*given, *place, y.own * SIDE, *chip.owners(y.cores)])
        kept = [*plast, *pnew, plast_score, pscore, plargest, pweight, ptotal, psum, pmean, prows]
        merged, own = [ppart, pparts, pscale, pscaled], [n, one.tiles, chunk, int(one.has_new), one.collects]
        math.set_args(core, [*brought, pv, *tiles, *kept, *merged, *turn, *own])
    chip.launch("attention", made.program)
