"""Programs on tensors in DRAM, of many tokens: products, norms, sums, the embedding.

A tensor is rows of tiles, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernbench.tanto.api import INPUT, INTERMED, MATH, OUTPUT, READER, WRITER, Global, Local, Semaphore
from kernbench.tanto.formats import find_format
from kernbench.tanto.tiles import SIDE, TILE, matrix_to_tiles
from kernbench.workloads.numbers import EPS
from kernbench.workloads.tensix.blocks import Blocks, Estimate, Formats, Shares, choose_blocks
from kernbench.workloads.tensix.chip import ACTIVATIONS, MOST_OWNERS, Builder, Chip, Core, fill_up, parts_of
from kernbench.workloads.tensix.chip import Shards as CoreShards
from kernbench.workloads.tensix.linear import KINDS
from kernbench.workloads.tensix.products import After, PartProduct
from kernbench.workloads.tensix.rows import NormWeights, Table, find_step

Make = Callable[[], np.ndarray]
CHUNK = 8  # tiles of a unit of work
SPREADS = ("grid", "columns")
NOTHING = After()
ADD, GATE = range(2)  # as `combine.cpp` counts them


@dataclass(frozen=True, slots=True)
class Tensor:
    """Rows of tiles in DRAM."""

    buffer: Global
    rows: int
    width: int  # tiles of a row


def make_tensor(chip: Chip, rows: int, width: int) -> Tensor:
    """A tensor that programs write."""
    return Tensor(Global(chip.device, ACTIVATIONS, rows * width * TILE), rows, width)


def multiply_rows(
    chip: Chip,
    operator: str,
    x: Tensor,
    make: Make,
    outputs: int,
    dtype: str,
    *,
    added: Tensor | None = None,
    bias: Tensor | None = None,
    activation: str = "",
    fidelity: str = "",
) -> Tensor:
    """The activation of what is added and the product of x and a matrix in DRAM, which `make` gives as (features, outputs)."""
    formats = Formats(find_format(ACTIVATIONS), find_format(dtype), find_format(ACTIVATIONS), False)
    width = parts_of(outputs, SIDE)
    after = After(added.buffer if added else None, bias.buffer if bias else None, KINDS[activation])
    shares, blocks = choose_shares(chip, x, width, formats, after)
    y = make_tensor(chip, x.rows, width)
    made = PartProduct(chip.device, shares, blocks, formats, x.buffer, y.buffer, x.rows, width, after)
    chip.fill(made.b, lambda: matrix_to_tiles(fill_up(make(), x.width * SIDE, made.n * SIDE)))
    chip.launch(operator, made.program, fidelity)
    return y


def choose_shares(chip: Chip, x: Tensor, width: int, formats: Formats, after: After = NOTHING) -> tuple[Shares, Blocks]:
    """The shares of cores and their blocks that are estimated to be fastest: of rows and columns, or of columns alone."""
    sizes, grid = (x.rows, x.width, width), (chip.places.w, chip.places.h)
    estimate = Estimate(chip.device, formats, "dram")
    found: list[tuple[Shares, Blocks]] = []
    for spread in SPREADS:
        shares = Shares.of(sizes, grid, spread)
        kept = formats.a.bytes_of(after.l1_tiles(shares, chip.slots) * TILE)
        found.append((shares, choose_blocks(chip.device, shares, (0, 0, 0), formats, "dram", kept)))
    return min(found, key=lambda one: estimate.cycles(*one))


def add(chip: Chip, operator: str, x: Tensor, y: Tensor, activation: str = "") -> Tensor:
    """The activation of x + y; y begins again where x has more rows, as a bias does."""
    return combine(chip, operator, x, y, ADD, activation)


def combine(chip: Chip, operator: str, x: Tensor, y: Tensor, operation: int, activation: str = "") -> Tensor:
    """The activation of the sum of x and y, or y times the activation of x."""
    tiles = x.rows * x.width
    units = parts_of(tiles, CHUNK)
    cores = chip.every_core()[:units]
    made = Builder(chip, operator, cores)
    pa, pb, py = made.pipe(INPUT, CHUNK, 2), made.pipe(INPUT, CHUNK, 2), made.pipe(OUTPUT, CHUNK, 2)
    pactive, pscaled = (made.pipe(INTERMED, CHUNK) if operation == GATE else pb for _ in range(2))
    result = make_tensor(chip, x.rows, x.width)
    reader = made.kernel(READER, "read_units.cpp", 1)
    writer = made.kernel(WRITER, "write_units.cpp")
    math = made.kernel(MATH, "combine.cpp", operation, KINDS[activation])
    for number, core in enumerate(cores):
        dealt = [number, units, len(cores), units, CHUNK, tiles]  # all tiles as one row
        reader.set_args(core, [x.buffer, y.buffer, pa, pb, *dealt, y.rows * y.width])
        writer.set_args(core, [result.buffer, py, *dealt])
        math.set_args(core, [pa, pb, pactive, pscaled, py, parts_of(units - number, len(cores)), CHUNK])
    chip.launch(operator, made.program)
    return result


def make_rows(chip: Chip, make: Make, rows: int, width: int) -> Tensor:
    """A tensor of some rows of tiles whose contents `make` gives, (tokens, features), filled up with zeros."""
    return Tensor(chip.tiles(make, rows, width), rows, width)


def normalise_rows(norm: NormWeights, x: Tensor) -> Tensor:
    """The norm of x; some cores share a row of tiles, and some rows are done at a time."""
    chip, y = norm.chip, make_tensor(norm.chip, x.rows, x.width)
    cores = chip.every_core()
    sharing = max(1, min(MOST_OWNERS, x.width, max(2, len(cores) // x.rows)))
    own = parts_of(x.width, sharing)
    sharing, at_once = parts_of(x.width, own), len(cores) // sharing
    for first in range(0, x.rows, at_once):
        rows = range(first, min(first + at_once, x.rows))
        groups = [cores[i * sharing : (i + 1) * sharing] for i in range(len(rows))]
        _normalise(norm, x, y, list(zip(rows, groups, strict=True)), own)
    return y


def _normalise(norm: NormWeights, x: Tensor, y: Tensor, groups: Sequence[tuple[int, Sequence[Core]]], own: int) -> None:
    """Norm some rows of tiles, each on the cores of a group."""
    chip, shifts = norm.chip, int(norm.shift is not None)
    own_sums, count = 1 + shifts, len(groups[0][1])
    made = Builder(chip, "norm", [core for _, group in groups for core in group])
    sums = Local(made.program, made.grid, ACTIVATIONS, own_sums * TILE)
    px, py, pscale, pweight = made.pipe(INPUT, own), made.pipe(OUTPUT, own), made.pipe(INPUT, 2), made.pipe(INPUT, own)
    pshift = made.pipe(INPUT, own) if shifts else pweight
    psums, pall = made.pipe(OUTPUT, own_sums, local=sums), made.pipe(INPUT, own_sums * count)
    psquare, pscaled = made.pipe(INTERMED, own), made.pipe(INTERMED, own)
    pmean, pdeviation = made.pipe(INTERMED, own_sums), made.pipe(INTERMED, 1)
    psquared = made.pipe(INTERMED, 1) if shifts else pmean
    ready = Semaphore(made.program, made.grid)
    reader, writer = made.kernel(READER, "norm_read.cpp", shifts), made.kernel(WRITER, "norm_write.cpp")
    math = made.kernel(MATH, "norm.cpp", shifts, int(np.float32(EPS).view(np.uint32)))
    read = [norm.scales, norm.weight, norm.shift or norm.weight, sums, px, pscale, pweight, pshift, pall, ready]
    pipes = [px, pscale, pweight, pshift, psquare, psums, pall, pmean, psquared, pdeviation, pscaled, py]
    for row, group in groups:
        owners = chip.owners(group)
        for number, core in enumerate(group):
            first = number * own
            sizes = [min(own, x.width - first), own_sums, count]
            reader.set_args(core, [x.buffer, *read, row * x.width, first, *sizes, *owners])
            writer.set_args(core, [y.buffer, psums, py, ready, row * x.width, first, *sizes, *owners])
            math.set_args(core, [*pipes, *sizes])
    chip.launch("norm", made.program)


def embed_rows(table: Table, prompt: int, sequences: int) -> Tensor:
    """The rows of the tokens of `rows.list_ids`, each sequence filled up to whole rows of tiles."""
    chip, width = table.chip, parts_of(table.hidden, SIDE)
    rows = parts_of(prompt, SIDE)
    y = make_tensor(chip, rows * sequences, width)
    chunks = parts_of(width, CHUNK)
    units, step = y.rows * chunks, find_step(table.vocabulary)
    cores = chip.every_core()[:units]
    made = Builder(chip, "embedding", cores)
    prows, py = made.pipe(INPUT, CHUNK, 2), made.pipe(OUTPUT, CHUNK, 2)
    reader, writer = made.kernel(READER, "embed_rows.cpp"), made.kernel(WRITER, "write_units.cpp")
    math = made.kernel(MATH, "relayout.cpp", 1)
    for number, core in enumerate(cores):
        dealt = [number, units, len(cores), chunks, CHUNK]
        sizes = [table.hidden, prompt, rows, step % table.vocabulary, step, table.vocabulary]
        reader.set_args(core, [table.rows, prows, *dealt, *sizes])
        writer.set_args(core, [y.buffer, py, *dealt, width])
        math.set_args(core, [prows, py, parts_of(units - number, len(cores)), CHUNK])
    chip.launch("embedding", made.program)
    return y


def pick_tokens(chip: Chip, x: Tensor, sequences: int, prompt: int, place: int, y: CoreShards) -> None:
    """y = the token at a place of each sequence."""
    made = Builder(chip, "tokens", y.cores)
    py = made.pipe(OUTPUT, y.own, local=y.local)
    reader, writer = made.kernel(READER, "pick_tokens.cpp"), made.kernel(WRITER, "keep_shard.cpp")
    for number, core in enumerate(y.cores):
        tiles = y.count(number)
        reader.set_args(core, [x.buffer, py, number * y.own, tiles, x.width, sequences, parts_of(prompt, SIDE), place])
        writer.set_args(core, [py, 1, tiles])
    chip.launch("tokens", made.program)
