"""The rows of the op table in which a composite reads and writes its tiles."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.machine.costs import plan_tiles
from kernbench.program.op_semantics import Composite, Operand, Ref, View

if TYPE_CHECKING:
    from kernbench.program.program import Program

ABSENT = -1


class TileGrid(NamedTuple):
    """A matrix cut into tiles: its size, and that of a tile; tiles count row by row."""

    rows: int
    columns: int
    tile_rows: int
    tile_columns: int

    @property
    def down(self) -> int:
        """Tiles along a column."""
        return max(1, -(-self.rows // self.tile_rows))

    @property
    def across(self) -> int:
        """Tiles along a row."""
        return max(1, -(-self.columns // self.tile_columns))

    def elements(self, tile: np.ndarray) -> np.ndarray:
        """int64[n] elements of some tiles."""
        row, column = np.divmod(tile, self.across)
        tall = np.minimum(self.tile_rows, self.rows - row * self.tile_rows)
        return tall * np.minimum(self.tile_columns, self.columns - column * self.tile_columns)


class TileRows(NamedTuple):
    """Tokens, tiles and rows of a composite's plan."""

    tensors: tuple[TileGrid, ...]
    tiles: np.ndarray  # int64[token, tensor] the tile of each tensor that a token takes
    read: np.ndarray  # int64[token, tensor] the row at whose end that tile has been read; ABSENT if it is not streamed
    output: TileGrid
    tokens: np.ndarray  # int64[output tile, k tile] the tokens of each output tile, in their order
    write: np.ndarray  # int64[output tile] the row in which it is written: at its issue to memory, at its end to TCM


def find_tile_rows(program: Program, plan: int, note: Composite, shapes: tuple[tuple[int, ...], ...]) -> TileRows:
    """The rows of a plan of a composite whose tensors have these shapes. The plan must be in the op table."""
    tensors, output = find_grids(note, shapes)
    gemm = note.kind == "gemm"
    depth = tensors[0].across if gemm else 1
    order, reads = (program.machine.costs.plan if gemm else plan_tiles)(output.down, depth, output.across)
    m, k, n = order.T
    made = m * output.across + n
    tiles = np.column_stack([m * depth + k, k * output.across + n] if gemm else [made] * len(tensors))
    stages = _Stages(program, plan)
    streamed = [i for i, tensor in enumerate(note.tensors) if as_reference(tensor) is not None]
    read = np.full(tiles.shape, ABSENT, np.int64)
    nbytes = np.zeros(tiles.shape, np.int64)
    for i in streamed:
        reference = as_reference(note.tensors[i])
        assert reference is not None
        nbytes[:, i] = np.where(reads[:, i], tensors[i].elements(tiles[:, i]) * itemsize(reference.dtype), 0)
    if streamed:
        stages.find_reads(read, nbytes, streamed)
        for i in streamed:
            read[:, i] = _of_earlier(read[:, i], tiles[:, i], stages.first)
    tokens = np.argsort(made, kind="stable").reshape(output.down * output.across, depth)
    write = stages.find_writes("store" if note.out_va is None else "dma_write")[tokens[:, -1]]
    if any(step.scope == "kernel" for step in note.epilogue):
        write[:] = write[made[-1]]  # the whole result is there with the last tile
    return TileRows(tensors, tiles, read, output, tokens, write)


def find_grids(note: Composite, shapes: tuple[tuple[int, ...], ...]) -> tuple[tuple[TileGrid, ...], TileGrid]:
    """The tiles of the tensors of a composite, and of its result."""
    rows, columns = prod(note.shape[:-1]), note.shape[-1]
    tile_m, tile_k, tile_n = note.tile
    output = TileGrid(rows, columns, tile_m, tile_n)
    if note.kind != "gemm":
        return (output,) * len(shapes), output
    depth = shapes[0][1]
    return (TileGrid(rows, depth, tile_m, tile_k), TileGrid(depth, columns, tile_k, tile_n)), output


def as_reference(operand: Operand) -> Ref | None:
    """The reference to memory in an operand that is streamed; None for one in TCM."""
    operand = operand.of if isinstance(operand, View) else operand
    return operand if isinstance(operand, Ref) else None


class _Stages:
    """The stages of a plan, in the order of its tokens."""

    def __init__(self, program: Program, plan: int) -> None:
        tokens = slice(program.plan_start[plan], program.plan_start[plan + 1])
        self.first, ends = program.token_start[tokens].copy(), program.token_end[tokens]
        self._start, end = int(self.first[0]), int(ends[-1])
        self._token = np.repeat(np.arange(len(ends)), ends - self.first)
        self._tags, self._nbytes = program.op_tag[self._start : end], program.op[self._start : end, 2]
        self._program = program

    def find_reads(self, read: np.ndarray, nbytes: np.ndarray, streamed: list[int]) -> None:
        """Write the row of the last transfer of each tile that a token reads to int64[token, tensor] `read`.

        A token reads the tiles of its tensors in turn; a tile that straddles memories is several transfers. `nbytes`:
        int64[token, tensor] bytes that a token reads.
        """
        at = np.flatnonzero(self._tags == self._program.tag("dma_read", "memory"))
        token, size = self._token[at], self._nbytes[at]
        before = np.cumsum(size) - size
        opening = np.ones(len(at), np.bool_)
        opening[1:] = token[1:] != token[:-1]
        before -= np.maximum.accumulate(np.where(opening, before, 0))
        ends = np.cumsum(nbytes, axis=1)[token]
        which = np.sum(before[:, None] >= ends, axis=1)
        for i in streamed:
            mine = which == i
            read[token[mine], i] = self._start + at[mine]  # the last one of a token stays

    def find_writes(self, name: str) -> np.ndarray:
        """int64[token] the first stage of that name of each token that has one."""
        at = np.flatnonzero(self._tags == self._program.tag(name, "memory"))[::-1]
        found = np.full(len(self.first), ABSENT, np.int64)
        found[self._token[at]] = self._start + at
        return found


def _of_earlier(read: np.ndarray, tile: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The rows of reads, where a token that does not read its tile takes that of the token before it that did.

    int64[token] each; `first` is the row with which a token begins, for a tile that no token has read.
    """
    order = np.argsort(tile, kind="stable")
    place = np.arange(len(order))
    opening = np.ones(len(order), np.bool_)
    opening[1:] = tile[order][1:] != tile[order][:-1]
    start = np.maximum.accumulate(np.where(opening, place, 0))
    latest = np.maximum.accumulate(np.where(read[order] != ABSENT, place, ABSENT))
    found = np.empty_like(read)
    found[order] = np.where(latest >= start, read[order][latest], first[order])
    return found
