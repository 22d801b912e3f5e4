"""A composite in flight: its tiles are read, computed and written at the times of their rows.

A tile of a streamed tensor is what memory held when its transfer was complete, an output tile is in memory from the issue of
its transfer on. Tiles between whose times memory has not changed are read as one block and computed as one product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.dtypes import itemsize, numpy_dtype
from kernbench.program.op_semantics import Composite, Ref, View
from kernbench.replay.numerics import apply_epilogue, compute_block
from kernbench.replay.tile_rows import ABSENT, TileGrid, TileRows, as_reference, find_grids, find_tile_rows
from kernbench.replay.timed_store import NEVER, Segment

if TYPE_CHECKING:
    from kernbench.program.program import Program


class Contents(Protocol):
    """Memory as one PE sees it, without regard to other operations in flight."""

    def read(self, va: int, shape: tuple[int, ...], dtype: str, /) -> np.ndarray: ...

    def write(self, va: int, data: np.ndarray, /) -> None: ...

    def segments(self, va: int, nbytes: int, /) -> list[Segment]: ...


class _Block(NamedTuple):
    """A part of a matrix: the place of its first element, and its elements."""

    row: int
    column: int
    data: np.ndarray

    def cut(self, rows: slice, columns: slice) -> np.ndarray:
        """The elements of a range of the matrix."""
        return self.data[rows.start - self.row : rows.stop - self.row, columns.start - self.column :][
            :, : columns.stop - columns.start
        ]


class _Tensor:
    """An operand of a composite: the blocks that have been read, and which of them each token takes."""

    def __init__(self, grid: TileGrid, reference: Ref | None, transposed: bool, array: np.ndarray | None) -> None:
        self.grid = grid
        self.reference = reference
        self._transposed = transposed
        self.blocks: list[_Block] = []
        if array is not None:
            self.blocks.append(_Block(0, 0, array.reshape(grid.rows, grid.columns)))

    def read(self, memory: Contents, tiles: np.ndarray) -> None:
        """Read a block that has some tiles."""
        grid = self.grid
        down, across = np.divmod(tiles, grid.across)
        row, row_end = int(down.min()) * grid.tile_rows, min((int(down.max()) + 1) * grid.tile_rows, grid.rows)
        column, column_end = (
            int(across.min()) * grid.tile_columns,
            min((int(across.max()) + 1) * grid.tile_columns, grid.columns),
        )
        assert self.reference is not None
        if self._transposed and len(self.reference.shape) > 2:
            whole = memory.read(self.reference.va, self.reference.shape, self.reference.dtype)
            self.blocks.append(_Block(0, 0, whole.swapaxes(-1, -2).reshape(grid.rows, grid.columns)))
        elif self._transposed:
            held = self._read_rows(memory, column, column_end, grid.rows)
            self.blocks.append(_Block(row, column, held[:, row:row_end].T))
        else:
            held = self._read_rows(memory, row, row_end, grid.columns)
            self.blocks.append(_Block(row, column, held[:, column:column_end]))

    def _read_rows(self, memory: Contents, first: int, end: int, length: int) -> np.ndarray:
        assert self.reference is not None
        at = self.reference.va + first * length * itemsize(self.reference.dtype)
        return memory.read(at, (end - first, length), self.reference.dtype)

    def assemble(self, block: np.ndarray, tile: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The whole tensor as tokens took it, each tile as the last of its tokens. int64[token] block and tile."""
        if len(self.blocks) == 1 and self.blocks[0].data.size == self.grid.rows * self.grid.columns:
            return self.blocks[0].data.reshape(shape)
        grid = self.grid
        whole = np.empty((grid.rows, grid.columns), self.blocks[0].data.dtype)
        taken: list[int] = block.tolist()
        for which, at in zip(taken, tile.tolist(), strict=True):
            rows, columns = _range(grid, *divmod(at, grid.across))
            whole[rows, columns] = self.blocks[which].cut(rows, columns)
        return whole.reshape(shape)


class TiledComposite:
    """A composite between its start and its end; see `Transaction`. `result` is complete when it is done.

    `arrays` are its operands, None for those that are streamed. The result goes to `memory`, or to `tcm`.
    """

    def __init__(
        self,
        program: Program,
        plan: int,
        thread: int,
        note: Composite,
        arrays: Sequence[np.ndarray | None],
        memory: Contents,
        tcm: Contents,
    ) -> None:
        self._program, self._plan, self._note = program, plan, note
        self._memory = memory
        self._key = (thread, plan)
        tensors = note.tensors
        references = [as_reference(tensor) for tensor in tensors]
        self._shapes = tuple(_shape(operand, array) for operand, array in zip(tensors, arrays, strict=False))
        grids, self._grid = find_grids(note, self._shapes)
        self._tensors = [
            _Tensor(grid, reference, isinstance(operand, View), array)
            for grid, reference, operand, array in zip(grids, references, tensors, arrays, strict=False)
        ]
        self._operands = list(arrays)
        self._out, self._out_at = (tcm, note.addr) if note.out_va is None else (memory, note.out_va)
        self._result = np.empty((self._grid.rows, self._grid.columns), numpy_dtype(note.dtype))
        self.reads = [
            segment
            for reference in references
            if reference is not None
            for segment in memory.segments(reference.va, _nbytes(reference.shape, reference.dtype))
        ]
        self.writes = self._out.segments(self._out_at, self._result.nbytes)
        self._rows: TileRows | None = None
        self._has_kernel_steps = any(step.scope == "kernel" for step in note.epilogue)

    @property
    def is_done(self) -> bool:
        """Whether all its accesses are made."""
        return self._rows is not None and not len(self._to_write)

    @property
    def result(self) -> np.ndarray:
        """The result in its shape and dtype."""
        return self._result.reshape(self._note.shape)

    def operands(self) -> list[np.ndarray]:
        """The inputs as they were taken; of a tile that was read several times, as it was read last."""
        assert self._rows is not None
        found = [np.asarray(array) for array in self._operands[len(self._tensors) :]]
        tensors = [
            tensor.assemble(self._block[:, i], self._rows.tiles[:, i], shape)
            for i, (tensor, shape) in enumerate(zip(self._tensors, self._shapes, strict=True))
        ]
        return tensors + found

    def look(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> None:
        """Find the times of the accesses that are left."""
        if self._rows is None:
            if self._plan >= len(self._program.plan_rows):
                return
            self._begin(find_tile_rows(self._program, self._plan, self._note, self._shapes))
        assert self._rows is not None
        self._read_fs = _times(end_fs, self._rows.read)
        written = end_fs if self._note.out_va is None else issue_fs
        write_fs = _times(written, self._rows.write[self._to_write])
        order = np.lexsort((self._to_write, write_fs))
        self._to_write, self._write_fs = self._to_write[order], write_fs[order]

    def _begin(self, rows: TileRows) -> None:
        self._rows = rows
        self._block = np.where(rows.read == ABSENT, 0, ABSENT)  # int64[token, tensor]
        self._to_write = np.arange(len(rows.write))

    def next_write(self) -> tuple[int, int, int]:
        """(time, thread, plan) of the next write; NEVER as time if it is not known."""
        known = self._rows is not None and len(self._to_write)
        return (int(self._write_fs[0]) if known else NEVER, *self._key)

    def read_until(self, time_fs: int) -> None:
        """Make the reads up to a time."""
        if self._rows is None:
            return
        for i, tensor in enumerate(self._tensors):
            due = np.flatnonzero((self._block[:, i] == ABSENT) & (self._read_fs[:, i] <= time_fs))
            if len(due):
                self._block[due, i] = len(tensor.blocks)
                tensor.read(self._memory, self._rows.tiles[due, i])

    def write_first(self) -> None:
        """Compute and write the next output tile."""
        self._write(len(self._to_write) if self._has_kernel_steps else 1)

    def write_until(self, time_fs: int) -> None:
        """Compute and write the output tiles up to a time."""
        if self._rows is not None:
            self._write(int(np.searchsorted(self._write_fs, time_fs, side="right")))

    def _write(self, count: int) -> None:
        tiles, self._to_write, self._write_fs = self._to_write[:count], self._to_write[count:], self._write_fs[count:]
        if not count:
            return
        blocks = [(rows, columns, self._compute(rows, columns, tile)) for rows, columns, tile in self._group(tiles)]
        if self._has_kernel_steps:
            whole = np.empty(self._result.shape, numpy_dtype(self._note.step_dtype))
            for rows, columns, block in blocks:
                whole[rows, columns] = block
            result = apply_epilogue(self._note, "kernel", whole.reshape(self._note.shape), self._inputs)
            blocks = [(slice(0, self._grid.rows), slice(0, self._grid.columns), result.reshape(whole.shape))]
        for rows, columns, block in blocks:
            with np.errstate(all="ignore"):
                self._result[rows, columns] = block.astype(self._result.dtype)
            self._store(rows, columns)

    @property
    def _inputs(self) -> list[np.ndarray]:
        """The operands; those of tensors are not used."""
        return [np.zeros(()) if array is None else array for array in self._operands]

    def _store(self, rows: slice, columns: slice) -> None:
        """Write a part of the result to where it goes."""
        width, size = self._grid.columns, self._result.itemsize
        if columns.stop - columns.start == width:
            self._out.write(self._out_at + rows.start * width * size, self._result[rows])
            return
        for row in range(rows.start, rows.stop):
            self._out.write(self._out_at + (row * width + columns.start) * size, self._result[row, columns])

    def _compute(self, rows: slice, columns: slice, tile: int) -> np.ndarray:
        """The result in a range of output tiles that take the same blocks as one of them."""
        assert self._rows is not None
        tokens = self._rows.tokens[tile].tolist()
        return compute_block(self._note, self._parts(rows, columns, tokens), self._cut_operands(rows, columns))

    def _parts(self, rows: slice, columns: slice, tokens: list[int]) -> Iterator[list[np.ndarray]]:
        """The tensors of a range, k tile after k tile."""
        assert self._rows is not None
        for token in tokens:
            taken: list[int] = self._block[token].tolist()
            blocks = [tensor.blocks[at] for tensor, at in zip(self._tensors, taken, strict=True)]
            if self._note.kind != "gemm":
                yield [block.cut(rows, columns) for block in blocks]
                continue
            grid = self._tensors[0].grid
            k = int(self._rows.tiles[token, 0]) % grid.across
            depth = slice(k * grid.tile_columns, min((k + 1) * grid.tile_columns, grid.columns))
            yield [blocks[0].cut(rows, depth), blocks[1].cut(depth, columns)]

    def _cut_operands(self, rows: slice, columns: slice) -> list[np.ndarray]:
        """The operands of the epilogue for a range of the result."""
        shape, whole = self._note.shape, (self._grid.rows, self._grid.columns)
        found = self._inputs
        for i in range(len(self._tensors), len(found)):
            if found[i].ndim:
                found[i] = np.broadcast_to(found[i], shape).reshape(whole)[rows, columns]
        return found

    def _group(self, tiles: np.ndarray) -> Iterator[tuple[slice, slice, int]]:
        """Output tiles as ranges of the result whose tiles take the same blocks: rows, columns, one of the tiles."""
        assert self._rows is not None
        tokens = self._rows.tokens[tiles]
        taken = [self._block[tokens, i] for i in range(len(self._tensors))]
        if self._note.kind == "gemm":
            taken.append(self._rows.tiles[tokens, 0] % self._tensors[0].grid.across)
        found = unique_rows(np.concatenate(taken, axis=1))
        which = np.full((self._grid.down, self._grid.across), ABSENT, np.int64)
        which.reshape(-1)[tiles] = found.which
        for value, tile in enumerate(tiles[found.first].tolist()):
            for down, across in _cover(which == value):
                top, _ = _range(self._grid, down.start, across.start)
                bottom, _ = _range(self._grid, down.stop - 1, across.start)
                _, left = _range(self._grid, down.start, across.start)
                _, right = _range(self._grid, down.start, across.stop - 1)
                yield slice(top.start, bottom.stop), slice(left.start, right.stop), tile


def _cover(mask: np.ndarray) -> Iterator[tuple[slice, slice]]:
    """Ranges of rows and columns that cover the true elements of bool[row, column], each once."""
    edges = np.diff(mask.astype(np.int8), axis=1, prepend=0, append=0)
    begun, runs = 0, ()
    for row in range(len(mask) + 1):
        found = tuple(_runs(edges[row])) if row < len(mask) else ()
        if found != runs:
            for first, end in runs:
                yield slice(begun, row), slice(first, end)
            begun, runs = row, found


def _runs(edges: np.ndarray) -> Iterator[tuple[int, int]]:
    """(first, end) of each run: 1 where one begins, -1 where one has ended."""
    return zip(np.flatnonzero(edges > 0).tolist(), np.flatnonzero(edges < 0).tolist(), strict=True)


def _range(grid: TileGrid, down: int, across: int) -> tuple[slice, slice]:
    """The rows and the columns of a tile."""
    row, column = down * grid.tile_rows, across * grid.tile_columns
    return slice(row, min(row + grid.tile_rows, grid.rows)), slice(
        column, min(column + grid.tile_columns, grid.columns)
    )


def _times(of_rows: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The times of rows; NEVER for a row still to come, or for none."""
    known = (rows >= 0) & (rows < len(of_rows))
    found = np.where(known, of_rows[np.where(known, rows, 0)] if len(of_rows) else NEVER, NEVER)
    return np.where(found < 0, NEVER, found)


def _shape(operand: object, array: np.ndarray | None) -> tuple[int, ...]:
    if array is not None:
        return array.shape
    if isinstance(operand, View):
        *outer, rows, columns = _shape(operand.of, None)
        return (*outer, columns, rows)
    assert isinstance(operand, Ref)
    return operand.shape


def _nbytes(shape: tuple[int, ...], dtype: str) -> int:
    found = itemsize(dtype)
    for size in shape:
        found *= size
    return found
