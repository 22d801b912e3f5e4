"""A thread of a device program: a sequence of rows, each an op over integer operands."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from kernbench.program.ops import GE, NONE
from kernbench.program.rows import ROW_BYTES, pack_multicast, pack_row
from kernels_jit.layout import codes  # plain integers: reading an enum's member costs a lookup

ZERO = 0  # the id of the duration 0
_ASK = pack_row(0, codes.ASK, 0, 0, 0, 0, 0, 0, 0)


class SourceLines(NamedTuple):
    """Where in a thread rows of another source line begin: 16 bytes each, which no garbage collector goes through."""

    rows: array[int]  # the index of the first row of each, in order
    lines: array[int]  # the id of its line in the program


class Thread:
    """One thread of a program. Each verb appends a row and returns the row's index within the thread."""

    __slots__ = ("_dirty", "chunks", "encoded", "id", "name", "notes", "pending", "role", "row_count", "sources")

    def __init__(self, id: int, name: str, dirty: list[Thread], role: str = "") -> None:
        self.id = id
        self.name = name
        self.role = role
        self.row_count = 0
        self.notes: dict[
            int, Mapping[str, Any]
        ] = {}  # by row index: the computation of a row, for the op log and replay
        self.chunks: list[tuple[int, int, int]] = []  # (first row index, first op-table row, rows) of each flush
        self.pending: list[bytes] = []  # packed rows, until the next flush
        self.encoded: list[tuple[np.ndarray, np.ndarray]] = []  # rows that come before these: distinct ones, and which
        self.sources = SourceLines(array("q"), array("q"))
        self._dirty = dirty

    def extend(self, rows: bytes, at: int = 0, note: Mapping[str, Any] | None = None) -> int:
        """Append rows as `kernbench.program.rows` packs them; returns the index of the first.

        A note is attached to row `at` among them.
        """
        if not self.pending and not self.encoded:
            self._dirty.append(self)
        self.pending.append(rows)
        first = self.row_count
        self.row_count = first + len(rows) // ROW_BYTES
        if note is not None:
            self.notes[first + at] = note
        return first

    def extend_encoded(self, rows: np.ndarray, which: np.ndarray) -> None:
        """Append rows that repeat: int64[, 1 + ROW_WIDTH] distinct ones, each behind its tag, and int64[row] which each is.

        Errors: ValueError for a thread with packed rows that are not flushed yet.
        """
        if self.pending:
            raise ValueError(f"thread {self.name} has packed rows; flush the program before it gets encoded ones")
        if not self.encoded:
            self._dirty.append(self)
        self.encoded.append((rows, which))
        self.row_count += len(which)

    def prepend(self, rows: np.ndarray) -> None:
        """Put rows, int64[row, 1 + ROW_WIDTH] each behind its tag, before all others, while none is flushed.

        Errors: ValueError for a thread with packed or flushed rows.
        """
        if self.pending or self.chunks or self.notes:
            raise ValueError(f"thread {self.name} has packed or flushed rows, before which none can be put")
        if not self.encoded:
            self._dirty.append(self)
        count = len(rows)
        self.encoded.insert(0, (rows, np.arange(count)))
        self.row_count += count
        self.sources = SourceLines(array("q", [row + count for row in self.sources.rows]), self.sources.lines)

    def delay(self, duration: int, tag: int = 0) -> int:
        """Wait for a duration."""
        return self.extend(pack_row(tag, codes.DELAY, duration, 0, 0, 0, 0, 0, 0))

    def exec(self, server: int, duration: int, counter: int = NONE, tag: int = 0) -> int:
        """Queue for a slot of a server, hold it for a duration, then add 1 to the counter. The thread goes on at once."""
        return self.extend(pack_row(tag, codes.EXEC, server, duration, counter, 0, 0, 0, 0))

    def move(
        self,
        route: int,
        nbytes: int,
        *,
        stripe: int = 0,
        done: int = NONE,
        hold: int = NONE,
        arrive: int = NONE,
        lead: int = ZERO,
        tag: int = 0,
    ) -> int:
        """Start a transfer; the thread goes on at once.

        With `hold`, it first queues for a slot of that server and keeps it until completion. `lead` is a duration spent
        between the start and the first byte (an address translation). When the last byte is at the destination, 1 is
        added to `arrive`; on completion (a write's acknowledgement is back) 1 is added to `done`.
        """
        return self.extend(pack_row(tag, codes.MOVE, route, nbytes, stripe, done, hold, arrive, lead))

    def multicast(
        self,
        route: int,
        nbytes: int,
        *,
        arrive: Sequence[int],
        stripe: int = 0,
        done: int = NONE,
        hold: int = NONE,
        lead: int = ZERO,
        tag: int = 0,
        arrival_tag: int = 0,
    ) -> int:
        """Start a transfer to many destinations, as `move`; rows for its arrivals follow, one for each destination.

        `arrive`: for each, in the order of `Routing.destinations`, the counter to which 1 is added when its last byte is there,
        or NONE. On completion, when all have all bytes (and their acknowledgements are back), 1 is added to `done`.
        """
        return self.extend(pack_multicast(route, nbytes, arrive, stripe, done, hold, lead, (tag, arrival_tag)))

    def until(self, time_fs: int) -> int:
        """Wait until an absolute time; if it is past, do nothing."""
        return self.extend(pack_row(0, codes.UNTIL, time_fs, 0, 0, 0, 0, 0, 0))

    def add(self, counter: int, amount: int = 1) -> int:
        """Add to a counter at once."""
        return self.extend(pack_row(0, codes.ADD, counter, amount, 0, 0, 0, 0, 0))

    def wait(self, counter: int, value: int, *, compare: int = GE, take: int = 0, tag: int = 0) -> int:
        """Wait until counter >= value (or ==, with EQ), then subtract `take` from it."""
        return self.extend(pack_row(tag, codes.WAIT, counter, compare, value, take, 0, 0, 0))

    def pipe(self, plan: int, counter: int = NONE, tag: int = 0) -> int:
        """Start all tokens of a plan; when the last has left its last stage, add 1 to the counter."""
        return self.extend(pack_row(tag, codes.PIPE, plan, counter, 0, 0, 0, 0, 0))

    def mark(self, tag: int) -> int:
        """Write a label to the log."""
        return self.extend(pack_row(tag, codes.MARK, 0, 0, 0, 0, 0, 0, 0))

    def ask(self) -> int:
        """Hand control to Python, which may append more rows to this thread."""
        return self.extend(_ASK)

    def ask_at(self, time_fs: int) -> int:
        """Wait until an absolute time, then ask."""
        return self.extend(pack_row(0, codes.UNTIL, time_fs, 0, 0, 0, 0, 0, 0) + _ASK)

    def note(self, row: int, params: Mapping[str, Any]) -> None:
        """Attach to a row its computation, which the op log shows and replay performs."""
        self.notes[row] = params

    def begin_source(self, source: int) -> None:
        """Say that a source line issues the rows from here on; 0: no line does."""
        self.sources.lines.append(source)  # the row last: a time limit may end a run between the two
        self.sources.rows.append(self.row_count)

    def source_of(self, row: int) -> int:
        """The source line that issued the row of an index; 0 if none did."""
        at = bisect_right(self.sources.rows, row) - 1
        return self.sources.lines[at] if at >= 0 else 0

    @property
    def pending_rows(self) -> int:
        """How many rows are not in the op table yet."""
        if not self.chunks:
            return self.row_count
        first, _, count = self.chunks[-1]
        return self.row_count - (first + count)

    def at(self, row: int) -> Thread:
        """A finished thread of the same rows, at consecutive rows of the op table."""
        other = Thread(self.id, self.name, [], self.role)
        other.row_count, other.notes, other.sources = self.row_count, self.notes, self.sources
        other.chunks = [(0, row, self.row_count)] * (self.row_count > 0)
        return other

    def find_row(self, row: int) -> int:
        """The op-table row of a row index of this thread. Errors: IndexError if it has not been flushed."""
        chunk = bisect_right(self.chunks, row, key=itemgetter(0)) - 1
        if chunk >= 0:
            first, at, count = self.chunks[chunk]
            if row < first + count:
                return at + row - first
        raise IndexError(f"row {row} of thread {self.name} is not in the op table")

    def find_index(self, row: int) -> int:
        """The index in this thread of one of its rows of the op table."""
        first, at, _ = self.chunks[bisect_right(self.chunks, row, key=itemgetter(1)) - 1]
        return first + row - at
