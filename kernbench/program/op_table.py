"""The growing op table of a program: rows, and the tag and the thread of each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kernbench.program.growable_array import enlarged
from kernbench.program.ops import ROW_WIDTH


class OpTable:
    """The op table. Its arrays are views, valid until rows are added; `op` is int64[row, ROW_WIDTH]."""

    __slots__ = ("_op", "_owners", "_put_rows", "_tags", "op")

    def __init__(self) -> None:
        from kernels_jit.simulate.op_append import put_rows  # loads numba, which is not needed without a program

        self._put_rows = put_rows
        self._op = np.zeros((256, ROW_WIDTH), np.int64)
        self._tags = np.zeros(256, np.int32)
        self._owners = np.zeros(256, np.int64)
        self.op = self._op[:0]

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.op)

    @property
    def tags(self) -> np.ndarray:
        """int32[row] the tag of each row."""
        return self._tags[: self.n]

    @property
    def owners(self) -> np.ndarray:
        """int64[row] the thread of each row, NONE for stage rows."""
        return self._owners[: self.n]

    def write(self, parts: Iterable[bytes], owner: int) -> int:
        """Append packed rows (see `rows`), given in pieces; returns the index of the first."""
        written = np.frombuffer(b"".join(parts), np.int64)
        first = self.extend(len(written) // (1 + ROW_WIDTH))
        self._put_rows(written, owner, self._op, self._tags, self._owners, first)
        return first

    def append(self, rows: np.ndarray, tags: np.ndarray, owner: int) -> int:
        """Append int64[row, ROW_WIDTH] with int32[row] tags; returns the index of the first."""
        first = self.extend(len(rows))
        self.op[first:], self.tags[first:], self.owners[first:] = rows, tags, owner
        return first

    def reserve(self, rows: int) -> None:
        """Make room for so many more rows at once."""
        if (needed := self.n + rows) > len(self._op):
            self._make_room(needed)

    def take(self, rows: np.ndarray) -> OpTable:
        """A table of copies of some rows, int64[], in this order."""
        other = OpTable()
        other._op, other._tags, other._owners = self.op[rows], self.tags[rows], self.owners[rows]
        other.op = other._op[:]
        return other

    def extend(self, count: int) -> int:
        """Append `count` rows that hold anything; returns the index of the first."""
        first = len(self.op)
        end = first + count
        if end > len(self._op):
            self._make_room(end)
        self.op = self._op[:end]
        return first

    def _make_room(self, rows: int) -> None:
        used = self.n
        self._op, self._tags, self._owners = (
            enlarged(column, used, rows) for column in (self._op, self._tags, self._owners)
        )
        self.op = self._op[:used]
