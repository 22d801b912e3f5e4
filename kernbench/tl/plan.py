"""The tile plan of a composite as rows of a program, built whole arrays at a time.

A tile is one DMA transfer of its bytes at the address of its first element: a documented simplification, since the rows
of a tile of a wider matrix lie apart. A tile that straddles two memories is one transfer each, on one hold of the channel.
Operands of an epilogue are in TCM and cost no fetch of their own.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.program.ops import NONE, Op
from kernbench.tl.outline import find_outline
from kernbench.tl.stages import Stages

if TYPE_CHECKING:
    from kernbench.tl.handle import CompletionHandle
    from kernbench.tl.lower import Lowering
    from kernbench.tl.outline import Jobs, Moves


def build_plan(completion: CompletionHandle, low: Lowering) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets, int32[stage] tags of a composite on a lowering's PE."""
    note = completion.note
    tensors = completion.inputs[: len(note.tensors)]
    outline = find_outline(note, tensors, low)
    stages = Stages(outline.token_count)
    _add_jobs(stages, low, outline.before)
    for tensor, moves in zip(tensors, outline.reads, strict=False):
        if moves is not None:
            _add_moves(stages, low, moves, tensor.addr, tensor.nbytes, write=False)
    _add_jobs(stages, low, outline.after)
    if note.out_va is not None:
        _add_moves(stages, low, outline.writes, note.out_va, prod(note.shape) * itemsize(note.dtype), write=True)
    return stages.lay_out()


def _add_jobs(stages: Stages, low: Lowering, jobs: tuple[Jobs, ...]) -> None:
    for tokens, tag, server, durations in jobs:
        stages.add(tokens, tag, Op.EXEC, getattr(low.pe.place, server), durations, NONE)


def _add_moves(stages: Stages, low: Lowering, moves: Moves, va: int, nbytes: int, *, write: bool) -> None:
    """The transfers of tiles of a tensor that is at `va`."""
    low.pe.translate(va, nbytes)  # a tile may miss the end of what is there, the whole does not
    transfers = (low.writes if write else low.reads).find_many(va + moves.start_bytes, moves.tile_bytes)
    place, which = transfers.expand(moves.tiles)
    hold, tag = low.channel(write)
    route, size, stripe = transfers.route[which], transfers.nbytes[which], transfers.stripe[which]
    stages.add(moves.tokens[place], tag, Op.MOVE, route, size, stripe, NONE, hold, NONE, low.lead)
