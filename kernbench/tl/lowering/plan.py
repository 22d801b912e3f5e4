"""The tile plan of a composite: a template shared with other PEs, and the numbers of this PE.

A tile is one DMA transfer of its bytes at the address of its first element: a documented simplification, since the rows
of a tile of a wider matrix lie apart. A tile that straddles two memories is one transfer each, on one hold of the channel.
Only a plan with operands in several memories can have such tiles; it is written out without the template.
Operands of an epilogue are in TCM and cost no fetch of their own.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.tl.lowering.plan_outline import find_outline

if TYPE_CHECKING:
    from kernbench.tl.language.handle import CompletionHandle
    from kernbench.tl.lowering.dma_access import Transfers
    from kernbench.tl.lowering.lower import Lowering
    from kernbench.tl.lowering.plan_outline import PlanOutline, TileTransfers


class _Streamed(NamedTuple):
    """A tensor whose tiles are transferred."""

    tiles: TileTransfers
    va: int
    nbytes: int
    write: bool


def add_plan(completion: CompletionHandle, low: Lowering) -> int:
    """The plan of a composite on a lowering's PE, added to its program. Errors: AddressError."""
    note = completion.note
    tensors = completion.inputs[: len(note.tensors)]
    outline = find_outline(note, tensors, low)
    streamed = [
        _Streamed(moves, tensor.addr, tensor.nbytes, False)
        for tensor, moves in zip(tensors, outline.reads, strict=False)
        if moves is not None
    ]
    if outline.writes is not None and note.out_va is not None:
        streamed.append(_Streamed(outline.writes, note.out_va, prod(note.shape) * itemsize(note.dtype), True))
    own = low.servers
    for tensor in streamed:
        place = low.access(tensor.write).locate(tensor.va, tensor.nbytes)
        if place is None:
            return low.pe.program.plan(*_write_out(outline, streamed, low), note)
        own += place
    return low.pe.program.plan_from(outline.template, own, note)


def _write_out(
    outline: PlanOutline, streamed: list[_Streamed], low: Lowering
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """int64[stage, ROW_WIDTH] rows, int64[token + 1] offsets, int32[stage] tags, the tiles of each tensor in any memory."""
    template = outline.template
    found: list[Transfers] = []
    for tensor in streamed:
        # Tiles alone may miss that the tensor runs past the end of its mapping.
        low.pe.translate(tensor.va, tensor.nbytes)
        start = tensor.va + tensor.tiles.start_bytes
        found.append(low.access(tensor.write).find_many(start, tensor.tiles.tile_bytes))
    counts = np.ones(len(template.kind), np.int64)
    for tensor, transfers in zip(streamed, found, strict=True):
        counts[tensor.tiles.stages] = np.diff(transfers.start)[tensor.tiles.tiles]
    start = np.concatenate([[0], np.cumsum(counts)])
    unplaced = (*low.servers, *[0, 0, 1] * len(streamed))
    rows = np.repeat(template.fill(np.array(unplaced))[:], counts, axis=0)
    for tensor, transfers in zip(streamed, found, strict=True):
        place, which = transfers.expand(tensor.tiles.tiles)
        at = start[tensor.tiles.stages][place] + which - transfers.start[tensor.tiles.tiles][place]
        rows[at, 1:4] = np.column_stack([transfers.route, transfers.nbytes, transfers.stripe])[which]
    return rows, start[template.token_start], np.repeat(template.stage_tags, counts)
