"""The growing op table of a program: rows, and the tag and the thread of each, dictionary-encoded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from kernbench.program.encoded_rows import EncodedRows
from kernbench.program.growable_array import enlarged
from kernbench.program.ops import ROW_WIDTH


class OpTable:
    """The op table, in which equal rows may share an entry. What it returns is valid until rows are added."""

    __slots__ = ("_entries", "_entry", "_op", "_owners", "_put_rows", "_tags", "n")

    def __init__(self) -> None:
        from kernels_jit.loop.op_append import put_rows  # loads numba, which is not needed without a program

        self._put_rows = put_rows
        self.n = 0  # rows
        self._entries = 0
        self._entry = np.zeros(256, np.int32)  # by row
        self._op = np.zeros((256, ROW_WIDTH), np.int64)  # by entry, as the next two
        self._tags = np.zeros(256, np.int32)
        self._owners = np.zeros(256, np.int64)

    @property
    def op(self) -> EncodedRows:
        """int64[row, ROW_WIDTH] opcode and operands."""
        return self._encoded(self._op)

    @property
    def tags(self) -> EncodedRows:
        """int32[row] the tag of each row."""
        return self._encoded(self._tags)

    @property
    def owners(self) -> EncodedRows:
        """int64[row] the thread of each row, NONE for stage rows."""
        return self._encoded(self._owners)

    @property
    def columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """int64[entry, ROW_WIDTH] operands, int32[entry] tags, int64[entry] threads, int32[row] entries, to write to."""
        return self._op, self._tags, self._owners, self._entry

    def write(self, parts: Iterable[bytes], owner: int) -> int:
        """Append packed rows (see `rows`), given in pieces; returns the index of the first."""
        written = np.frombuffer(b"".join(parts), np.int64)
        count = len(written) // (1 + ROW_WIDTH)
        first, entry = self.extend(count), self.extend_entries(count)
        self._put_rows(written, owner, entry, first, *self.columns)
        return first

    def append(self, rows: np.ndarray, tags: np.ndarray, owner: int) -> int:
        """Append int64[row, ROW_WIDTH] with int32[row] tags; returns the index of the first."""
        first, entry = self.extend(len(rows)), self.extend_entries(len(rows))
        here = slice(entry, self._entries)
        self._op[here], self._tags[here], self._owners[here] = rows, tags, owner
        self._entry[first : self.n] = np.arange(entry, self._entries)
        return first

    def append_encoded(self, rows: np.ndarray, which: np.ndarray, owner: int) -> None:
        """Append int64[row] of int64[, 1 + ROW_WIDTH] distinct rows, each behind its tag."""
        first, entry = self.extend(len(which)), self.extend_entries(len(rows))
        here = slice(entry, self._entries)
        self._op[here], self._tags[here], self._owners[here] = rows[:, 1:], rows[:, 0], owner
        self._entry[first : self.n] = which + entry

    def reserve(self, rows: int, entries: int = 0) -> None:
        """Make room at once for `rows` and `entries` more."""
        if self.n + rows > len(self._entry):
            self._entry = enlarged(self._entry, self.n, self.n + rows)
        if (end := self._entries + entries) > len(self._op):
            self._op, self._tags, self._owners = (
                enlarged(column, self._entries, end) for column in (self._op, self._tags, self._owners)
            )

    def take(self, rows: np.ndarray) -> OpTable:
        """A table of copies of some rows, int64[], in this order."""
        other = OpTable()
        other._entry, other.n, other._entries = self._entry[rows], len(rows), self._entries
        other._op, other._tags, other._owners = self._op.copy(), self._tags.copy(), self._owners.copy()
        return other

    def replacing(self, opcode: int, other: int) -> OpTable:
        """This table, with one opcode for another."""
        codes = self._op[: self._entries, 0]
        codes[codes == opcode] = other
        return self

    def extend(self, count: int) -> int:
        """Append `count` rows whose entries are to be written; returns the index of the first."""
        first = self.n
        self.reserve(count)
        self.n = first + count
        return first

    def extend_entries(self, count: int) -> int:
        """Append `count` entries that hold anything; returns the index of the first."""
        first = self._entries
        self.reserve(0, count)
        self._entries = first + count
        return first

    def drop_entries(self, first: int) -> None:
        """Drop the entries from one on, which no row holds."""
        self._entries = first

    def _encoded(self, values: np.ndarray) -> EncodedRows:
        return EncodedRows(values[: self._entries], self._entry[: self.n])
