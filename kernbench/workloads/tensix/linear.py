"""Products of one row of tiles with weights that stream from DRAM, each bank's share to the core beside it.

A core has columns of the result, as many tiles as its share; its weights lie in its own bank in the order in which they are
used, so that the bank sends one long stream. The input lies over the same cores, and each brings all of it, once, from one core
after the other; it begins with another one than the others do. (tt-metal's products with weights sharded over DRAM do the same;
they multicast the input.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kernbench.tanto.api import INPUT, INTERMED, MATH, OUTPUT, READER, WRITER, Global, Local, Pipe
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE, TILE, from_matrices
from kernbench.workloads.tensix.chip import (
    ACTIVATIONS,
    SLOTS_FORMAT,
    Builder,
    Chip,
    Shards,
    fill_up,
    page_tiles,
    parts_of,
)

FRAMES = 2  # of each of the two pipes of weights, if they fit into L1
BLOCK = 8  # tiles of the depth of a frame
KINDS = {"": 0, "silu": 1, "gelu": 2, "relu": 3, "tanh": 4}  # of activations, as `stream_matmul.cpp` counts them
_TENSOR, _BIAS = 1, 2  # what is added, as bits


@dataclass(slots=True)
class Weights:
    """One matrix, or a gate and a matrix of its size, as cores stream them; `make` gives each as (features, outputs)."""

    chip: Chip
    features: int
    outputs: int
    dtype: str
    make: Sequence[Callable[[], np.ndarray]]
    bias: Callable[[], np.ndarray] | None = None
    weights: Global = field(init=False)
    biases: Global | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        chip, fmt = self.chip, find_format(self.dtype)
        self.page = page_tiles(fmt, int(chip.device.machine.figures["tensix_noc.packet_bytes"]), BLOCK)
        self.k, self.n = parts_of(self.features, SIDE), parts_of(self.outputs, SIDE)
        self.own = parts_of(self.n, chip.banks)
        self.part = parts_of(self.own, parts_of(self.own, chip.slots // len(self.make)))
        pages = parts_of(self.k, BLOCK) * BLOCK * self.own * len(self.make) // self.page
        size = self.page * TILE
        self.weights = Global(chip.device, self.dtype, pages * chip.banks * size, size.bit_length() - 1)
        chip.fill(self.weights, self._stream)
        if self.bias is not None:
            make = self.bias
            self.biases = chip.tiles(lambda: np.tile(make(), (SIDE, 1)), 1, self.n)

    page: int = field(init=False)
    k: int = field(init=False)
    n: int = field(init=False)
    own: int = field(init=False)
    part: int = field(init=False)

    def count(self, core: int) -> int:
        """The columns of tiles of a core."""
        return min(self.own, self.n - core * self.own)

    @property
    def own_k(self) -> int:
        """The columns of tiles of the input that a core has."""
        return parts_of(self.k, self.chip.banks)

    def first_owner(self, core: int) -> int:
        """The core with whose columns of the input one begins."""
        return core % parts_of(self.k, self.own_k)

    def _stream(self) -> np.ndarray:
        """The weights in the order of the buffer."""
        deep = parts_of(self.k, BLOCK) * BLOCK
        whole = [fill_up(make(), deep * SIDE, self.n * SIDE) for make in self.make]
        tiles = np.stack([w.reshape(deep, SIDE, self.n, SIDE).transpose(0, 2, 1, 3) for w in whole], 1)  # k, matrix, n
        banks, size = self.chip.banks, self.page * TILE
        found = np.zeros((self.weights.spec.size // size // banks, banks, size), np.float32)
        for core in range(parts_of(self.n, self.own)):
            first = core * self.own
            turned = np.concatenate(
                [np.roll(tiles[: self.k], -self.first_owner(core) * self.own_k, 0), tiles[self.k :]]
            )
            parts = [
                turned[:, :, first + at : first + min(at + self.part, self.count(core))].reshape(-1, SIDE, SIDE)
                for at in range(0, self.count(core), self.part)
            ]
            pages = from_matrices(np.concatenate(parts)).reshape(-1, size)
            found[: len(pages), core] = pages
        return found.reshape(-1)


def multiply(
    operator: str,
    x: Shards,
    weights: Weights,
    y: Shards | Global,
    *,
    added: Shards | None = None,
    activation: str = "",
    fidelity: str = "",
) -> None:
    """y = what is added + the product of x, or its activation; y lies over the cores, or in DRAM tile after tile."""
    chip, w = weights.chip, weights
    cores = chip.stream_cores[: parts_of(w.n, w.own)]
    made = Builder(chip, operator, cores)
    matrices, frame = len(w.make), BLOCK * w.part * len(w.make)
    adds = _TENSOR * (added is not None) + _BIAS * (w.biases is not None)
    deep = parts_of(w.k, BLOCK) * BLOCK
    whole = Local(made.program, made.grid, ACTIVATIONS, deep * TILE)
    pa, pall = made.pipe(INPUT, BLOCK, deep // BLOCK, local=whole), made.pipe(INPUT, deep, local=whole)
    in_dram = isinstance(y, Global)
    kept = [x.own, 0 if added is None else added.own, 2 * w.part if isinstance(y, Global) else y.own + w.part]
    free = chip.l1_bytes - SLOTS_FORMAT.bytes_of((deep + sum(kept) + 4 * w.part * (matrices - 1)) * TILE)
    ahead = max(1, min(FRAMES, free // (2 * find_format(w.dtype).bytes_of(frame * TILE))))
    pb0, pb1 = (made.pipe(INPUT, frame, ahead, w.dtype) for _ in range(2))
    frames = parts_of(w.own, w.part)
    py = made.pipe(OUTPUT, w.part, 2) if isinstance(y, Global) else made.pipe(OUTPUT, w.part, frames, local=y.local)
    padded = made.pipe(INPUT, w.own, local=added.local) if added is not None else py
    pbias = made.pipe(INPUT, w.own) if w.biases is not None else py
    gates: list[Pipe] = [made.pipe(INTERMED, w.part) if matrices > 1 else py for _ in range(4)]
    reader = made.kernel(READER, "stream_read.cpp", adds)
    writer = made.kernel(WRITER, "stream_write.cpp", int(in_dram))
    math = made.kernel(MATH, "stream_matmul.cpp", adds, matrices - 1, KINDS[activation])
    owners = chip.owners(x.cores)
    result = y if isinstance(y, Global) else w.weights
    for number, core in enumerate(cores):
        sizes = [w.k, w.count(number), matrices, BLOCK, w.part, w.page]
        placed = [number, chip.banks, number * w.own]
        reader.set_args(core, [w.weights, w.biases or w.weights, pb0, padded, pbias, *placed, *sizes])
        writer.set_args(
            core,
            [x.local, w.weights, result, pa, pall, pb1, py, *placed, x.own, w.first_owner(number), *sizes, *owners],
        )
        math.set_args(core, [pa, pall, pb0, pb1, padded, pbias, *gates, py, w.k, w.count(number), BLOCK, w.part])
    chip.launch(operator, made.program, fidelity)
