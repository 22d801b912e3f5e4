"""What the tile plan of a composite is on every PE: its tokens, their stages and what each takes.

PEs that share a product evenly have plans that differ only in their own servers and in where their operands lie, so an
outline is drawn up once for all of them.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import bits, itemsize
from kernbench.machine.costs import plan_tiles
from kernbench.program.ops import NONE, Op
from kernbench.program.plan_template import Blanks, Pattern, Stripes, blank
from kernbench.program.program import ZERO
from kernbench.tl.stages import Stages
from kernbench.tl.tiling import Axis, GemmTiles, grid_elements, grid_index, grid_starts, plan_gemm

if TYPE_CHECKING:
    from kernbench.program.op_semantics import Composite
    from kernbench.tl.handle import TensorHandle
    from kernbench.tl.lower import Lowering


SERVERS = ("dma_read", "dma_write", "tcm_read", "tcm_write", "gemm_server", "math_server")
"""The first numbers that each plan has of its own: servers, as fields of a `PePlace`. Then comes the lead of its transfers,
then for each tensor that is streamed the route, where it begins in its memory, and how many channels that has."""

_LEAD = len(SERVERS)


class Moves(NamedTuple):
    """A stage in which each of some tokens moves a tile of an operand, or of the result."""

    stages: np.ndarray  # int64[move] rows of the pattern
    tiles: np.ndarray  # int64[move]
    start_bytes: np.ndarray  # int64[tile] where each tile begins
    tile_bytes: np.ndarray  # int64[tile]


class Outline(NamedTuple):
    """A composite: the stages that its tokens walk, and which of them move what.

    First come the transfers of the operands, None for one that is not streamed, and in the end those of the result, None if
    it stays in TCM.
    """

    pattern: Pattern
    reads: tuple[Moves | None, ...]
    writes: Moves | None


def find_outline(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> Outline:
    """The outline of a composite of these operands, drawn up for the first PE of the program that asks."""
    operands = tuple((tensor.shape, tensor.dtype, tensor.streamed, tensor.transposed) for tensor in tensors)
    kind = (note.kind, note.function, note.shape, note.dtype, note.acc_dtype, note.epilogue, note.tile)
    key = kind, operands, note.out_va is None
    found = low.pe.outlines.get(key)
    if found is None:
        found = low.pe.outlines[key] = draw_outline(note, tensors, low)
    return found


def draw_outline(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> Outline:
    """The outline of a composite of these operands."""
    cut = _cut(note, tensors, low)
    tokens, ends = np.arange(len(cut.last)), np.flatnonzero(cut.last)
    draft = _Draft(len(tokens), low)
    streamed = [cut.reads[:, i] for i, tensor in enumerate(tensors) if tensor.streamed]
    if streamed:  # all tokens of a plan begin at one server: those that read nothing pass it in no time
        draft.add_jobs(tokens[~np.any(streamed, axis=0)], low.tag("kept", "control"), "dma_read", ZERO)
    fetch_bytes = np.zeros(len(tokens), np.int64)
    reads: list[Moves | None] = []
    for i, (tensor, grid) in enumerate(zip(tensors, _grids(note, cut), strict=False)):
        tile_bytes = grid_elements(*grid) * itemsize(tensor.dtype)
        tiles, read = grid_index(*grid), cut.reads[:, i]
        fetch_bytes += tile_bytes[tiles]
        start_bytes = grid_starts(*grid, tensor.transposed) * itemsize(tensor.dtype)
        moved = tokens[read], tiles[read], start_bytes, tile_bytes
        reads.append(draft.add_moves(*moved, write=False) if tensor.streamed else None)
    draft.add_jobs(tokens, low.fetch_tag, "tcm_read", low.durations(low.costs.fetch, fetch_bytes))
    _add_work(draft, note, tensors, low, cut)
    grid = (cut.m, cut.n)
    tiles, tile_bytes = grid_index(*grid)[ends], grid_elements(*grid) * itemsize(note.dtype)
    draft.add_jobs(ends, low.store_tag, "tcm_write", low.durations(low.costs.store, tile_bytes[tiles]))
    writes = None
    if note.out_va is not None:
        start_bytes = grid_starts(*grid) * itemsize(note.dtype)
        writes = draft.add_moves(ends, tiles, start_bytes, tile_bytes, write=True)
    return draft.finish(tuple(reads), writes)


class _Draft:
    """An outline as it is drawn: `Moves.stages` are rows as they were added, until it is finished."""

    def __init__(self, token_count: int, low: Lowering) -> None:
        self._stages = Stages(token_count)
        self._low = low
        self._streamed: list[Moves] = []

    def add_jobs(self, tokens: np.ndarray, tag: int, server: str, durations: int | np.ndarray) -> None:
        """A stage in which each of some tokens is a job of a server of the PE, of one duration or int64[token]."""
        self._stages.add(tokens, tag, Op.EXEC, blank(SERVERS.index(server)), durations, NONE)

    def add_moves(
        self, tokens: np.ndarray, tiles: np.ndarray, start_bytes: np.ndarray, tile_bytes: np.ndarray, *, write: bool
    ) -> Moves:
        """A stage in which each of some tokens moves a tile: see `Moves`."""
        name = "dma_write" if write else "dma_read"
        hold, route = blank(SERVERS.index(name)), blank(_route_at(len(self._streamed)))
        row = (Op.MOVE, route, tile_bytes[tiles], 0, NONE, hold, NONE, blank(_LEAD))
        stages = self._stages.add(tokens, self._low.tag(name, "memory"), *row)
        self._streamed.append(Moves(stages, tiles, start_bytes, tile_bytes))
        return self._streamed[-1]

    def finish(self, reads: tuple[Moves | None, ...], writes: Moves | None) -> Outline:
        """The outline with all stages laid out."""
        rows, token_start, tags, row = self._stages.lay_out()

        def laid(moves: Moves | None) -> Moves | None:
            return moves and moves._replace(stages=row[moves.stages])

        streamed = self._streamed
        stage = [np.zeros(0, np.int64), *(row[moves.stages] for moves in streamed)]
        start_bytes = [np.zeros(0, np.int64), *(moves.start_bytes[moves.tiles] for moves in streamed)]
        offset = np.repeat(np.array([_route_at(i) + 1 for i in range(len(streamed))], np.int64), [*map(len, stage[1:])])
        stripes = Stripes(np.concatenate(stage), np.concatenate(start_bytes), offset, self._low.burst_bytes)
        pattern = Pattern(rows, token_start, tags, Blanks.of(rows), stripes)
        return Outline(pattern, tuple(map(laid, reads)), laid(writes))


def _route_at(streamed: int) -> int:
    """Which of a plan's own numbers is the route of a tensor, counting those that are streamed."""
    return _LEAD + 1 + 3 * streamed


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


def _add_work(draft: _Draft, note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering, cut: GemmTiles) -> None:
    """What the engines do."""
    m, n, k = cut.m, cut.n, cut.k
    tokens, ends = np.arange(len(cut.last)), np.flatnonzero(cut.last)
    widest = max(bits(tensor.dtype) for tensor in tensors)
    area = grid_elements(m, n)[grid_index(m, n)]

    def add_math(at: np.ndarray, function: str, width: int, elements: np.ndarray) -> None:
        durations = low.durations(lambda count: low.costs.elements(function, count, width), elements)
        draft.add_jobs(at, low.tag(function, "math"), "math_server", durations)

    if note.kind == "gemm":
        sizes = (m.size[m.index], k.size[k.index], n.size[n.index])
        durations = low.durations(lambda m, k, n: low.costs.product(m, k, n, widest), *sizes)
        draft.add_jobs(tokens, low.tag("gemm", "gemm"), "gemm_server", durations)
    else:
        add_math(tokens, str(note.function), widest, area)
    for scope, at, elements in (
        ("k_tile", tokens, area),
        ("output_tile", ends, area[ends]),
        ("kernel", tokens[-1:], np.array([prod(note.shape)])),
    ):
        for step in note.epilogue:
            if step.scope == scope:
                add_math(at, step.op, bits(note.acc_dtype), elements)
