"""The part of a tile plan that PEs share: its tokens, their stages and the cost of each stage.

PEs that share a product evenly have plans that differ only in their own servers and in the addresses of their operands, so
an outline is made once for all of them.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import bits, itemsize
from kernbench.limits.memory_budget import check_fits
from kernbench.machine.costs import plan_tiles
from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.program.plan_template import PlanTemplate, Stripes, placeholder
from kernbench.program.thread import ZERO
from kernbench.tl.lowering.tiling import Axis, GemmTiles, grid_elements, grid_index, grid_starts, plan_gemm, tile_count

if TYPE_CHECKING:
    from kernbench.program.op_semantics import Composite
    from kernbench.tl.language.handle import TensorHandle
    from kernbench.tl.lowering.lower import Lowering
    from kernbench.tl.lowering.queue import Terms


class Stages:
    """Stages of many tokens, added as arrays; each token passes its own in the order in which they were added."""

    def __init__(self, token_count: int) -> None:
        self._token_count = token_count
        self._count = 0
        self._tokens: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._tags: list[np.ndarray] = []

    def add(self, tokens: np.ndarray, tag: int, *columns: int | np.ndarray) -> np.ndarray:
        """Add one row for each of these tokens: the opcode and operands, each one number or one for each token.

        Returns int64[token]: the numbers of these rows among all added rows.
        """
        rows = np.zeros((len(tokens), ROW_WIDTH), np.int64)
        for at, column in enumerate(columns):
            rows[:, at] = column
        self._tokens.append(tokens)
        self._rows.append(rows)
        self._tags.append(np.full(len(tokens), tag, np.int32))
        self._count += len(tokens)
        return np.arange(self._count - len(tokens), self._count)

    def lay_out(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets into them, int32[stage] tags; int64[added] the row of each."""
        tokens = np.concatenate(self._tokens)
        order = np.argsort(tokens, kind="stable")
        token_start = np.zeros(self._token_count + 1, np.int64)
        np.cumsum(np.bincount(tokens, minlength=self._token_count), out=token_start[1:])
        row = np.empty(len(order), np.int64)
        row[order] = np.arange(len(order))
        return np.concatenate(self._rows)[order], token_start, np.concatenate(self._tags)[order], row


SERVERS = ("dma_read", "dma_write", "tcm_read", "tcm_write", "gemm_server", "math_server")
"""The first numbers of each PE's own plan: servers, as fields of a `PePlace`. They are followed by the lead of its transfers
and, for each streamed tensor, the route, its offset in its memory and the number of channels of that memory."""

TILE_BYTES = 300  # of an outline, for each tile: the rows of its three or four stages, while they are laid out

_LEAD = len(SERVERS)


class TileTransfers(NamedTuple):
    """A stage in which each of some tokens transfers a tile of an operand or of the result."""

    stages: np.ndarray  # int64[transfer] rows of the template
    tiles: np.ndarray  # int64[transfer]
    start_bytes: np.ndarray  # int64[tile] offset of each tile
    tile_bytes: np.ndarray  # int64[tile]


class PlanOutline(NamedTuple):
    """The stages of a composite's tokens, and its transfers.

    `reads` has one entry for each operand, None if it is not streamed; `writes` is None if the result stays in TCM.
    """

    template: PlanTemplate
    reads: tuple[TileTransfers | None, ...]
    writes: TileTransfers | None


def find_outline(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> PlanOutline:
    """The outline of a composite of these operands, made for the first PE of the program that needs it."""
    operands = tuple((tensor.shape, tensor.dtype, tensor.streamed, tensor.transposed) for tensor in tensors)
    operation = (note.kind, note.function, note.shape, note.dtype, note.acc_dtype, note.epilogue, note.tile)
    key = operation, operands, note.out_va is None
    found = low.pe.outlines.get(key)
    if found is None:
        found = low.pe.outlines[key] = make_outline(note, tensors, low)
    return found


def make_outline(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> PlanOutline:
    """The outline of a composite of these operands."""
    cut = _cut(note, tensors, low)
    tokens, ends = np.arange(len(cut.last)), np.flatnonzero(cut.last)
    draft = _Draft(len(tokens), low)
    streamed = [cut.reads[:, i] for i, tensor in enumerate(tensors) if tensor.streamed]
    if streamed:  # all tokens of a plan begin at one server: those that read nothing pass it in no time
        draft.add_jobs(tokens[~np.any(streamed, axis=0)], low.tag("kept", "control"), "dma_read", ZERO)
    fetch_bytes = np.zeros(len(tokens), np.int64)
    reads: list[TileTransfers | None] = []
    for i, (tensor, grid) in enumerate(zip(tensors, _grids(note, cut), strict=False)):
        tile_bytes = grid_elements(*grid) * itemsize(tensor.dtype)
        tiles, read = grid_index(*grid), cut.reads[:, i]
        fetch_bytes += tile_bytes[tiles]
        start_bytes = grid_starts(*grid, tensor.transposed) * itemsize(tensor.dtype)
        moved = tokens[read], tiles[read], start_bytes, tile_bytes
        reads.append(draft.add_transfers(*moved, write=False) if tensor.streamed else None)
    draft.add_jobs(tokens, low.fetch_tag, "tcm_read", low.durations(low.costs.fetch, fetch_bytes))
    _add_work(draft, note, tensors, low, cut)
    grid = (cut.m, cut.n)
    tiles, tile_bytes = grid_index(*grid)[ends], grid_elements(*grid) * itemsize(note.dtype)
    draft.add_jobs(ends, low.store_tag, "tcm_write", low.durations(low.costs.store, tile_bytes[tiles]))
    writes = None
    if note.out_va is not None:
        start_bytes = grid_starts(*grid) * itemsize(note.dtype)
        writes = draft.add_transfers(ends, tiles, start_bytes, tile_bytes, write=True)
    return draft.finish(tuple(reads), writes)


class _Draft:
    """An outline under construction: `TileTransfers.stages` are numbers of added rows until it is finished."""

    def __init__(self, token_count: int, low: Lowering) -> None:
        self._stages = Stages(token_count)
        self._low = low
        self._streamed: list[TileTransfers] = []

    def add_jobs(self, tokens: np.ndarray, tag: int, server: str, durations: int | np.ndarray) -> None:
        """Add a stage in which each of some tokens is a job of a server of the PE, of one duration or int64[token]."""
        self._stages.add(tokens, tag, Op.EXEC, placeholder(SERVERS.index(server)), durations, NONE)

    def add_transfers(
        self, tokens: np.ndarray, tiles: np.ndarray, start_bytes: np.ndarray, tile_bytes: np.ndarray, *, write: bool
    ) -> TileTransfers:
        """Add a stage in which each of some tokens transfers a tile: see `TileTransfers`."""
        name = "dma_write" if write else "dma_read"
        hold, route = placeholder(SERVERS.index(name)), placeholder(_route_at(len(self._streamed)))
        row = (Op.MOVE, route, tile_bytes[tiles], 0, NONE, hold, NONE, placeholder(_LEAD))
        stages = self._stages.add(tokens, self._low.tag(name, "memory"), *row)
        self._streamed.append(TileTransfers(stages, tiles, start_bytes, tile_bytes))
        return self._streamed[-1]

    def finish(self, reads: tuple[TileTransfers | None, ...], writes: TileTransfers | None) -> PlanOutline:
        """The outline with all stages in the order of their tokens."""
        rows, token_start, tags, row = self._stages.lay_out()

        def ordered(transfers: TileTransfers | None) -> TileTransfers | None:
            return transfers and transfers._replace(stages=row[transfers.stages])

        streamed = self._streamed
        stage = [np.zeros(0, np.int64), *(row[transfers.stages] for transfers in streamed)]
        start_bytes = [np.zeros(0, np.int64), *(transfers.start_bytes[transfers.tiles] for transfers in streamed)]
        offset = np.repeat(np.array([_route_at(i) + 1 for i in range(len(streamed))], np.int64), [*map(len, stage[1:])])
        places = np.stack([np.concatenate(stage), np.concatenate(start_bytes), offset], axis=1)
        stripes = Stripes(places, self._low.burst_bytes)
        template = PlanTemplate.of(rows, token_start, tags, stripes)
        return PlanOutline(template, tuple(map(ordered, reads)), ordered(writes))


def _route_at(streamed: int) -> int:
    """The index of the route of a streamed tensor among a plan's own numbers."""
    return _LEAD + 1 + 3 * streamed


def _cut(note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering) -> GemmTiles:
    gemm = note.kind == "gemm"
    tile_m, tile_k, tile_n = note.tile
    depth = tensors[0].shape[1] if gemm else 1
    cuts = (prod(note.shape[:-1]), depth, note.shape[-1], tile_m, tile_k if gemm else 1, tile_n)
    tokens = prod(tile_count(dim, tile) for dim, tile in zip(cuts[:3], cuts[3:], strict=True))
    check_fits(
        tokens * TILE_BYTES,
        f"the {tokens:,} tiles of a {note.kind} composite of {note.shape}",
        "make it smaller, or its tiles larger (pe.tile_m, pe.tile_k, pe.tile_n)",
    )
    return plan_gemm(*cuts, low.costs.plan if gemm else plan_tiles)


def _grids(note: Composite, cut: GemmTiles) -> tuple[tuple[Axis, Axis], ...]:
    """The tile axes of each operand."""
    if note.kind == "gemm":
        return (cut.m, cut.k), (cut.k, cut.n)
    return (cut.m, cut.n), (cut.m, cut.n)


def _add_work(draft: _Draft, note: Composite, tensors: tuple[TensorHandle, ...], low: Lowering, cut: GemmTiles) -> None:
    """Add the work of the engines: the product or the math op, then the epilogue."""
    m, n, k = cut.m, cut.n, cut.k
    tokens, ends = np.arange(len(cut.last)), np.flatnonzero(cut.last)
    widest = max(bits(tensor.dtype) for tensor in tensors)
    area = grid_elements(m, n)[grid_index(m, n)]

    def add_math(at: np.ndarray, function: str, width: int, elements: np.ndarray) -> None:
        def cost(count: int) -> Terms:
            return low.costs.elements(function, count, width)

        durations = low.durations(cost, elements)
        draft.add_jobs(at, low.tag(function, "math"), "math_server", durations)

    if note.kind == "gemm":
        sizes = (m.size[m.of], k.size[k.of], n.size[n.of])

        def cost(m: int, k: int, n: int) -> Terms:
            return low.costs.product(m, k, n, widest)

        durations = low.durations(cost, *sizes)
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
                add_math(at, step.op, bits(note.step_dtype), elements)
