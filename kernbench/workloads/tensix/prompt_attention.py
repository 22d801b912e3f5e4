"""Attention of prompts: keys are turned and put into the cache first, then rows of tiles of queries attend to them.

A unit of the second program is a head of queries and a row of tiles; units are dealt over all cores. Features of a head have
the order of `attention.Sizes.order`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from kernbench.tanto.api import INPUT, INTERMED, MATH, OUTPUT, READER, WRITER, Global
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE, TILE
from kernbench.workloads.tensix.attention import CHUNK, NEVER, Sizes
from kernbench.workloads.tensix.chip import Builder, Chip, page_tiles
from kernbench.workloads.tensix.tensors import Tensor, make_tensor

THETA = 10000.0


@dataclass(slots=True)
class PromptAttention:
    """Attention of `sizes.sequences` prompts of `sizes.context` tokens, in some format of the cache."""

    chip: Chip
    sizes: Sizes
    dtype: str
    causal: bool = True
    tables: list[Global] = field(init=False)  # cosines and sines of keys, then of queries, which scale scores
    constants: Global = field(init=False)  # what swaps neighbours; ones; the mask

    def __post_init__(self) -> None:
        s, chip = self.sizes, self.chip
        rows, scale = s.context_tiles, np.float32(s.size**-0.5)
        self.tables = [
            chip.tiles(lambda at=at, by=by: find_turns(s)[at] * by, rows, s.head_tiles)
            for by in (np.float32(1), scale)
            for at in range(2)
        ]
        self.constants = chip.tiles(lambda: np.concatenate(make_constants(self.mask()), axis=1), 1, 3)

    def mask(self) -> np.ndarray:
        """What is added to the last tile of scores: of tokens after each, or of those that fill a tile up."""
        mask = np.full((SIDE, SIDE), NEVER, np.float32)
        if self.causal:
            return np.triu(mask, 1)
        mask[:, : (self.sizes.context - 1) % SIDE + 1] = 0
        return mask

    def launch(self, qkv: Tensor) -> Tensor:
        """Attention of what the product of queries, keys and values made."""
        caches = self._fill(qkv)
        return self._attend(qkv, caches)

    def _fill(self, qkv: Tensor) -> list[Global]:
        chip, s, n = self.chip, self.sizes, self.sizes.head_tiles
        units = qkv.rows * s.keys
        packet = int(chip.device.machine.figures["tensix_noc.packet_bytes"])
        page = page_tiles(find_format(self.dtype), packet, n) * TILE
        caches = [Global(chip.device, self.dtype, units * n * TILE, page.bit_length() - 1) for _ in range(2)]
        cores = chip.every_core()[:units]
        made = Builder(chip, "cache", cores)
        pkey, pvalue, pcos, psin = (made.pipe(INPUT, n, 2) for _ in range(4))
        pswap = made.pipe(INPUT, 1)
        kept = [made.pipe(INTERMED, n) for _ in range(3)]
        pnew = [made.pipe(OUTPUT, n, 2, self.dtype) for _ in range(2)]
        reader, writer = made.kernel(READER, "fill_read.cpp"), made.kernel(WRITER, "fill_write.cpp")
        math = made.kernel(MATH, "fill.cpp", int(s.rotary > 0))
        for number, core in enumerate(cores):
            dealt = [number, units, len(cores)]
            read = [qkv.buffer, *self.tables[:2], self.constants, pkey, pvalue, pcos, psin, pswap]
            reader.set_args(core, [*read, *dealt, s.keys, s.keys * s.group, n, s.context_tiles, qkv.width])
            writer.set_args(core, [*caches, *pnew, *dealt, s.keys, n, s.context_tiles])
            math.set_args(core, [pkey, pvalue, pcos, psin, pswap, *kept, *pnew, *dealt, n])
        chip.launch("cache", made.program)
        return caches

    def _attend(self, qkv: Tensor, caches: list[Global]) -> Tensor:
        chip, s, n = self.chip, self.sizes, self.sizes.head_tiles
        queries = s.keys * s.group
        units, rows = qkv.rows * queries, s.context_tiles
        y = make_tensor(chip, qkv.rows, queries * n)
        cores, chunk = chip.every_core()[:units], max(1, min(rows, CHUNK // n))
        made = Builder(chip, "attention", cores)
        pq, pcos, psin = (made.pipe(INPUT, n, 2) for _ in range(3))
        pconstant = made.pipe(INPUT, 3)
        pk, pv = (made.pipe(INPUT, chunk * n, 2, self.dtype) for _ in range(2))
        kept = [made.pipe(INTERMED, n) for _ in range(4)]
        plast, pscore, plargest = made.pipe(INTERMED, 1), made.pipe(INTERMED, rows), made.pipe(INTERMED, 1)
        pweight, ptotal, psum = made.pipe(INTERMED, rows), made.pipe(INTERMED, 1), made.pipe(INTERMED, n)
        py = made.pipe(OUTPUT, n, 2)
        reader = made.kernel(READER, "prompt_read.cpp", int(self.causal))
        writer = made.kernel(WRITER, "prompt_write.cpp", int(self.causal))
        math = made.kernel(MATH, "prompt.cpp", int(s.rotary > 0), int(self.causal))
        for number, core in enumerate(cores):
            dealt, sizes = [number, units, len(cores)], [queries, s.group, n, rows, chunk]
            read = [qkv.buffer, *self.tables[2:], self.constants, caches[0], pq, pcos, psin, pconstant, pk]
            reader.set_args(core, [*read, *dealt, *sizes, qkv.width])
            writer.set_args(core, [caches[1], y.buffer, pv, py, *dealt, *sizes])
            own = [plast, pscore, plargest, pweight, ptotal, psum, py]
            math.set_args(core, [pq, pcos, psin, pconstant, pk, pv, *kept, *own, *dealt, queries, n, rows, chunk])
        chip.launch("attention", made.program)
        return y


def find_turns(s: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """float32[token, element] the cosine of each feature in its order, and the sine that its neighbour is multiplied with."""
    half, tokens = s.rotary // 2, s.context_tiles * SIDE
    angle = np.arange(tokens)[:, None] * THETA ** (-np.arange(half) / max(half, 1))
    cos, sin = np.ones((tokens, s.size), np.float32), np.zeros((tokens, s.size), np.float32)
    cos[:, : 2 * half] = np.repeat(np.cos(angle), 2, axis=1)
    sin[:, : 2 * half] = np.stack([-np.sin(angle), np.sin(angle)], axis=2).reshape(tokens, -1)
    return cos, sin


def make_constants(mask: np.ndarray) -> list[np.ndarray]:
    """Tiles for `prompt.cpp`: what swaps neighbours, ones, a mask."""
    swap = np.eye(SIDE, dtype=np.float32)[np.arange(SIDE) ^ 1]
    return [swap, np.ones((SIDE, SIDE), np.float32), mask]
