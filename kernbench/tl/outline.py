"""What the tile plan of a composite is on every PE: its tokens, their stages and what each takes.

PEs that share a product evenly have plans that differ only in their own servers and in where their operands lie, so an
outline is drawn up once for all of them; `plan` makes rows of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import bits, itemsize
from kernbench.machine.costs import plan_tiles
from kernbench.program.program import ZERO
from kernbench.tl.tiling import Axis, GemmTiles, grid_elements, grid_index, grid_starts, plan_gemm

if TYPE_CHECKING:
    from kernbench.program.notes import Composite
    from kernbench.tl.handle import TensorHandle
    from kernbench.tl.lower import Lowering


class Jobs(NamedTuple):
    """A stage in which each of some tokens is a job of one server of the PE."""

    tokens: np.ndarray  # int64[job]
    tag: int
    server: str  # its field of a `PePlace`
    durations: int | np.ndarray  # of the program, one or int64[job]


class Moves(NamedTuple):
    """A stage in which each of some tokens moves a tile of an operand, or of the result."""

    tokens: np.ndarray  # int64[move]
    tiles: np.ndarray  # int64[move]
    start_bytes: np.ndarray  # int64[tile] where each tile begins
    tile_bytes: np.ndarray  # int64[tile]


class Outline(NamedTuple):
    """The stages of a composite in the order in which a token walks them.

    `reads` has the transfers of each operand, None for one that is not streamed. They come after `before`; `writes` come
    last, if the result goes to memory.
    """

    token_count: int
    before: tuple[Jobs, ...]
    reads: tuple[Moves | None, ...]
    after: tuple[Jobs, ...]
    writes: Moves


def find_outline(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> Outline:
    """The outline of a composite of these operands, drawn up for the first PE of the program that asks."""
    operands = tuple((tensor.shape, tensor.dtype, tensor.streamed, tensor.transposed) for tensor in tensors)
    kind = (note.kind, note.function, note.shape, note.dtype, note.acc_dtype, note.epilogue, note.tile)
    found = low.pe.outlines.get((kind, operands))
    if found is None:
        found = low.pe.outlines[kind, operands] = draw_outline(note, tensors, low)
    return found


def draw_outline(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> Outline:
    """The outline of a composite of these operands."""
    cut = _cut(note, tensors, low)
    tokens = np.arange(len(cut.last))
    streamed = [cut.reads[:, i] for i, tensor in enumerate(tensors) if tensor.streamed]
    before: tuple[Jobs, ...] = ()
    if streamed:  # all tokens of a plan begin at one server: those that read nothing pass it in no time
        kept = tokens[~np.any(streamed, axis=0)]
        before = (Jobs(kept, low.tag("kept", "control"), "dma_read", ZERO),)
    fetch_bytes = np.zeros(len(tokens), np.int64)
    reads: list[Moves | None] = []
    for i, (tensor, grid) in enumerate(zip(tensors, _grids(note, cut), strict=False)):
        tile_bytes = grid_elements(*grid) * itemsize(tensor.dtype)
        tiles, read = grid_index(*grid), cut.reads[:, i]
        fetch_bytes += tile_bytes[tiles]
        start_bytes = grid_starts(*grid, tensor.transposed) * itemsize(tensor.dtype)
        reads.append(Moves(tokens[read], tiles[read], start_bytes, tile_bytes) if tensor.streamed else None)
    fetch = Jobs(tokens, low.fetch_tag, "tcm_read", low.durations(low.costs.fetch, fetch_bytes))

    ends, grid = np.flatnonzero(cut.last), (cut.m, cut.n)
    tiles, output_bytes = grid_index(*grid)[ends], grid_elements(*grid) * itemsize(note.dtype)
    work = tuple(_work(note, tensors, low, cut))
    store = Jobs(ends, low.store_tag, "tcm_write", low.durations(low.costs.store, output_bytes[tiles]))
    writes = Moves(ends, tiles, grid_starts(*grid) * itemsize(note.dtype), output_bytes)
    return Outline(len(tokens), before, tuple(reads), (fetch, *work, store), writes)


def _cut(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> GemmTiles:
    gemm = note.kind == "gemm"
    tile_m, tile_k, tile_n = note.tile
    depth = tensors[0].shape[1] if gemm else 1
    cuts = (prod(note.shape[:-1]), depth, note.shape[-1], tile_m, tile_k if gemm else 1, tile_n)
    return plan_gemm(*cuts, low.costs.plan if gemm else plan_tiles)


def _grids(note: Composite, cut: GemmTiles) -> tuple[tuple[Axis, Axis], ...]:
    """How each operand is cut."""
    if note.kind == "gemm":
        return (cut.m, cut.k), (cut.k, cut.n)
    return (cut.m, cut.n), (cut.m, cut.n)


def _work(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering, cut: GemmTiles) -> Iterator[Jobs]:
    """What the engines do."""
    m, n, k = cut.m, cut.n, cut.k
    tokens, ends = np.arange(len(cut.last)), np.flatnonzero(cut.last)
    widest = max(bits(tensor.dtype) for tensor in tensors)
    area = grid_elements(m, n)[grid_index(m, n)]
    if note.kind == "gemm":
        sizes = (m.size[m.index], k.size[k.index], n.size[n.index])
        durations = low.durations(lambda m, k, n: low.costs.product(m, k, n, widest), *sizes)
        yield Jobs(tokens, low.tag("gemm", "gemm"), "gemm_server", durations)
    else:
        yield _math(low, tokens, str(note.function), widest, area)
    for scope, at, elements in (
        ("k_tile", tokens, area),
        ("output_tile", ends, area[ends]),
        ("kernel", tokens[-1:], np.array([prod(note.shape)])),
    ):
        for step in note.epilogue:
            if step.scope == scope:
                yield _math(low, at, step.op, bits(note.acc_dtype), elements)


def _math(low: Lowering, tokens: np.ndarray, function: str, width: int, elements: np.ndarray) -> Jobs:
    durations = low.durations(lambda count: low.costs.elements(function, count, width), elements)
    return Jobs(tokens, low.tag(function, "math"), "math_server", durations)
