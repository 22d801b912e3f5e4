"""The tile plan of a composite as rows of a program, built whole arrays at a time.

A tile is one DMA transfer of its bytes at the address of its first element: a documented simplification, since the rows
of a tile of a wider matrix lie apart. A tile that straddles two memories is one transfer each, on one hold of the channel.
Operands of an epilogue are in TCM and cost no fetch of their own.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import bits, itemsize
from kernbench.machine.costs import plan_tiles
from kernbench.program.ops import NONE, Op
from kernbench.program.program import ZERO
from kernbench.tl.stages import Stages
from kernbench.tl.tiling import grid_elements, grid_index, grid_starts, plan_gemm

if TYPE_CHECKING:
    from kernbench.tl.handle import CompletionHandle
    from kernbench.tl.lower import Lowering


def build_plan(completion: CompletionHandle, low: Lowering) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets, int32[stage] tags of a composite on a lowering's PE."""
    note, place, costs = completion.note, low.pe.place, low.costs
    tensors = completion.inputs[: len(note.tensors)]
    gemm = note.kind == "gemm"
    tile_m, tile_k, tile_n = note.tile
    depth = tensors[0].shape[1] if gemm else 1
    cuts = (prod(note.shape[:-1]), depth, note.shape[-1], tile_m, tile_k if gemm else 1, tile_n)
    m, n, k, last, reads = plan_gemm(*cuts, costs.plan if gemm else plan_tiles)
    tokens = np.arange(len(last))
    ends = np.flatnonzero(last)
    output_elements = grid_elements(m, n)
    stages = Stages(len(tokens))

    fetch_bytes = np.zeros(len(tokens), np.int64)
    streamed = [reads[:, i] for i, tensor in enumerate(tensors) if tensor.streamed]
    if streamed:  # all tokens of a plan begin at one server: those that read nothing pass it in no time
        _add_jobs(stages, tokens[~np.any(streamed, axis=0)], low.tag("kept", "control"), place.dma_read, ZERO)
    for i, (tensor, grid) in enumerate(zip(tensors, ((m, k), (k, n)) if gemm else ((m, n), (m, n)), strict=False)):
        tile_bytes = grid_elements(*grid) * itemsize(tensor.dtype)
        tiles = grid_index(*grid)
        fetch_bytes += tile_bytes[tiles]
        if tensor.streamed:
            low.pe.translate(tensor.addr, tensor.nbytes)  # a tile may miss the end of what is there, the whole does not
            va = tensor.addr + grid_starts(*grid, tensor.transposed) * itemsize(tensor.dtype)
            _add_moves(stages, low, tokens[reads[:, i]], tiles[reads[:, i]], va, tile_bytes, write=False)
    _add_jobs(stages, tokens, low.fetch_tag, place.tcm_read, low.durations(costs.fetch, fetch_bytes))

    widest = max(bits(tensor.dtype) for tensor in tensors)
    area = output_elements[grid_index(m, n)]
    if gemm:
        sizes = (m.size[m.index], k.size[k.index], n.size[n.index])
        durations = low.durations(lambda m, k, n: costs.product(m, k, n, widest), *sizes)
        _add_jobs(stages, tokens, low.tag("gemm", "gemm"), place.gemm_server, durations)
    else:
        _add_math(stages, low, tokens, str(note.function), widest, area)

    for scope, at, elements in (
        ("k_tile", tokens, area),
        ("output_tile", ends, area[ends]),
        ("kernel", tokens[-1:], np.array([prod(note.shape)])),
    ):
        for step in note.epilogue:
            if step.scope == scope:
                _add_math(stages, low, at, step.op, bits(note.acc_dtype), elements)

    output_bytes = output_elements * itemsize(note.dtype)
    tiles = grid_index(m, n)[ends]
    _add_jobs(stages, ends, low.store_tag, place.tcm_write, low.durations(costs.store, output_bytes[tiles]))
    if note.out_va is not None:
        low.pe.translate(note.out_va, prod(note.shape) * itemsize(note.dtype))
        va = note.out_va + grid_starts(m, n) * itemsize(note.dtype)
        _add_moves(stages, low, ends, tiles, va, output_bytes, write=True)
    return stages.lay_out()


def _add_jobs(stages: Stages, tokens: np.ndarray, tag: int, server: int, durations: int | np.ndarray) -> None:
    stages.add(tokens, tag, Op.EXEC, server, durations, NONE)


def _add_math(
    stages: Stages, low: Lowering, tokens: np.ndarray, function: str, width: int, elements: np.ndarray
) -> None:
    durations = low.durations(lambda count: low.costs.elements(function, count, width), elements)
    _add_jobs(stages, tokens, low.tag(function, "math"), low.pe.place.math_server, durations)


def _add_moves(
    stages: Stages,
    low: Lowering,
    tokens: np.ndarray,
    tiles: np.ndarray,
    va: np.ndarray,
    tile_bytes: np.ndarray,
    *,
    write: bool,
) -> None:
    """The transfers of the tile that each of these tokens takes."""
    transfers = (low.writes if write else low.reads).find_many(va, tile_bytes)
    place, which = transfers.expand(tiles)
    hold, tag = low.channel(write)
    route, nbytes, stripe = transfers.route[which], transfers.nbytes[which], transfers.stripe[which]
    stages.add(tokens[place], tag, Op.MOVE, route, nbytes, stripe, NONE, hold, NONE, low.lead)
