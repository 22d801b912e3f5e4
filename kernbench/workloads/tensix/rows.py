"""Programs on tensors in L1 beside products: norms, changes of layout, and the embedding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernbench.tanto.api import INPUT, INTERMED, MATH, OUTPUT, READER, WRITER, Global, Local, Semaphore
from kernbench.tanto.tiles import SIDE, TILE
from kernbench.workloads.numbers import EPS
from kernbench.workloads.tensix.chip import ACTIVATIONS, Builder, Chip, Shards, parts_of

Make = Callable[[], np.ndarray]
ROW_PAGE = 2048  # elements of a page of a table


class NormWeights:
    """The weight of a norm, and its shift if it takes the mean away, as rows that are repeated in tiles."""

    def __init__(self, chip: Chip, features: int, scale: Make, shift: Make | None) -> None:
        self.chip, self.features = chip, features
        tiles = parts_of(features, SIDE)
        self.weight = chip.tiles(lambda: scale()[None], 1, tiles)
        self.shift = None if shift is None else chip.tiles(lambda: shift()[None], 1, tiles)
        self.scales = Global(chip.device, ACTIVATIONS, 2 * TILE)
        chip.fill(self.scales, lambda: np.repeat(np.array([1 / features, 1], np.float32), TILE))


def normalise(x: Shards, norm: NormWeights, y: Shards) -> None:
    """y = the norm of x; cores exchange sums of their own columns."""
    chip, count = norm.chip, len(x.cores)
    shifts = int(norm.shift is not None)
    own_sums = 1 + shifts
    made = Builder(chip, "norm", x.cores)
    sums = Local(made.program, made.grid, ACTIVATIONS, own_sums * TILE)
    px, py = made.pipe(INPUT, x.own, local=x.local), made.pipe(OUTPUT, x.own, local=y.local)
    pscale, pweight = made.pipe(INPUT, 2), made.pipe(INPUT, x.own)
    pshift = made.pipe(INPUT, x.own) if shifts else pweight
    psums = made.pipe(OUTPUT, own_sums, local=sums)
    pall = made.pipe(INPUT, own_sums * count)
    psquare, pscaled = made.pipe(INTERMED, x.own), made.pipe(INTERMED, x.own)
    pmean, pdeviation = made.pipe(INTERMED, own_sums), made.pipe(INTERMED, 1)
    psquared = made.pipe(INTERMED, 1) if shifts else pmean
    ready = Semaphore(made.program, made.grid)
    reader = made.kernel(READER, "norm_gather.cpp", shifts)
    writer = made.kernel(WRITER, "norm_tell.cpp")
    math = made.kernel(MATH, "norm.cpp", shifts, int(np.float32(EPS).view(np.uint32)))
    owners = chip.owners(x.cores)
    shift = norm.shift or norm.weight
    for number, core in enumerate(x.cores):
        tiles = x.count(number)
        sizes, first = [tiles, own_sums, count], number * x.own
        objects = [norm.scales, norm.weight, shift, sums, px, pscale, pweight, pshift, pall, ready]
        reader.set_args(core, [*objects, first, *sizes, *owners])
        writer.set_args(core, [psums, py, ready, *sizes, *owners])
        pipes = [px, pscale, pweight, pshift, psquare, psums, pall, pmean, psquared, pdeviation, pscaled, py]
        math.set_args(core, [*pipes, *sizes])
    chip.launch("norm", made.program)


def relayout(chip: Chip, operator: str, x: Shards, y: Shards, *, to_tiles: bool) -> None:
    """y = x as rows of elements, or of rows as tiles; a core has 32 rows of its columns."""
    made = Builder(chip, operator, x.cores)
    px, py = made.pipe(INPUT, x.own, local=x.local), made.pipe(OUTPUT, x.own, local=y.local)
    made.kernel(READER, "push_shards.cpp", 0).set_args(made.grid, [px, px, 1, x.own])
    made.kernel(WRITER, "keep_shard.cpp").set_args(made.grid, [py, 1, x.own])
    made.kernel(MATH, "relayout.cpp", int(to_tiles)).set_args(made.grid, [px, py, 1, x.own])
    chip.launch(operator, made.program)


class Table:
    """The rows of an embedding in DRAM, (vocabulary, hidden)."""

    def __init__(self, chip: Chip, vocabulary: int, hidden: int, make: Make) -> None:
        self.chip, self.vocabulary, self.hidden = chip, vocabulary, hidden
        self.rows = Global(chip.device, ACTIVATIONS, vocabulary * hidden, ROW_PAGE.bit_length() - 1)
        chip.fill(self.rows, make)


def list_ids(tokens: int, vocabulary: int) -> list[int]:
    """The token of each sequence, spread over the vocabulary by a golden section."""
    step = find_step(vocabulary)
    return [(number + 1) * step % vocabulary for number in range(tokens)]


def find_step(vocabulary: int) -> int:
    """From one token to that of the next sequence."""
    return max(1, int(vocabulary * 0.618033988749895))


def embed(table: Table, y: Shards, tokens: int) -> None:
    """y = the rows of the tokens of `list_ids`."""
    chip, step = table.chip, find_step(table.vocabulary)
    made = Builder(chip, "embedding", y.cores)
    prows, py = made.pipe(INPUT, y.own), made.pipe(OUTPUT, y.own, local=y.local)
    reader = made.kernel(READER, "embed_read.cpp")
    made.kernel(WRITER, "keep_shard.cpp").set_args(made.grid, [py, 1, y.own])
    made.kernel(MATH, "relayout.cpp", 1).set_args(made.grid, [prows, py, 1, y.own])
    width = y.own * SIDE
    for number, core in enumerate(y.cores):
        first = number * width
        features = min(width, table.hidden - first)
        sizes = [features, table.hidden, tokens, step % table.vocabulary, step, table.vocabulary, width]
        reader.set_args(core, [table.rows, prows, first, *sizes])
    chip.launch("embedding", made.program)
