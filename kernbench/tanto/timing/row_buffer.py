"""The entries of one thread while a kernel runs, and the rows that are made of them at its end.

An entry is what the kernel did at one place: how many operations its processor had done, for how many cycles more it is busy,
and the row that follows. Rows of all entries are made together.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING

import numpy as np

from kernbench.program.ops import NONE, ROW_WIDTH, Op
from kernbench.tanto.timing.row_arrays import Costs, delay_rows, find_lines, place_rows

if TYPE_CHECKING:
    from kernbench.program.thread import Thread
    from kernbench.tanto.cores.kernel import Kernel

_MOVE, _ADD, _WAIT, _ARRIVE = int(Op.MOVE), int(Op.ADD), int(Op.WAIT), int(Op.ARRIVE)
NO_ROW = -1
_HEAD = 3  # operations, line and cycles, then a row
_ENTRY = Struct(f"2qd{1 + ROW_WIDTH}q")

Row = tuple[int, int]  # thread, and the entry of it whose last row is meant


class RowBuffer:
    """The entries of a thread. `operations` are those of the kernel so far; `cycles` come on top of them."""

    __slots__ = ("_costs", "_entries", "kernel", "thread")

    def __init__(self, thread: Thread, costs: Costs) -> None:
        self.thread, self._costs = thread, costs
        self._entries: list[bytes] = []
        self.kernel: Kernel  # whose lines issue rows; set before the first entry

    @property
    def count(self) -> int:
        """The number of entries, to which `rewind` goes back."""
        return len(self._entries)

    def rewind(self, count: int) -> None:
        """Take back the entries after so many."""
        del self._entries[count:]

    def last_row(self) -> Row:
        """The last row of the entry that was added last."""
        return self.thread.id, len(self._entries) - 1

    def spend(self, operations: int, cycles: float = 0) -> None:
        """Be busy without a row that follows."""
        self._entries.append(_ENTRY.pack(operations, self.kernel.line, cycles, 0, NO_ROW, 0, 0, 0, 0, 0, 0, 0))

    def wait(self, operations: int, counter: int, value: int, cycles: float = 0) -> None:
        """Wait for a counter to reach a value; 0 is reached."""
        code = _WAIT if value > 0 else NO_ROW
        self._entries.append(_ENTRY.pack(operations, self.kernel.line, cycles, 0, code, counter, 0, value, 0, 0, 0, 0))

    def increase(self, operations: int, counter: int, amount: int, cycles: float = 0) -> Row:
        """Add to a counter."""
        entries = self._entries
        entries.append(_ENTRY.pack(operations, self.kernel.line, cycles, 0, _ADD, counter, amount, 0, 0, 0, 0, 0))
        return self.thread.id, len(entries) - 1

    def move(
        self,
        operations: int,
        cycles: float,
        tag: int,
        route: int,
        nbytes: int,
        done: int,
        hold: int,
        arrive: int = NONE,
    ) -> Row:
        """Start a transfer."""
        entries = self._entries
        entries.append(
            _ENTRY.pack(operations, self.kernel.line, cycles, tag, _MOVE, route, nbytes, 0, done, hold, arrive, 0)
        )
        return self.thread.id, len(entries) - 1

    def arrivals(self, operations: int, counters: Sequence[int]) -> None:
        """For each destination of the route of the transfer before, its counter, or NONE."""
        line = self.kernel.line
        self._entries += [
            _ENTRY.pack(operations, line, 0, 0, _ARRIVE, counter, 0, 0, 0, 0, 0, 0) for counter in counters
        ]

    def finish(self) -> np.ndarray:
        """Give the rows to the thread. Returns int64[entry] the number of its rows up to the end of each entry."""
        found = np.frombuffer(b"".join(self._entries), np.int64).reshape(-1, _HEAD + 1 + ROW_WIDTH)
        operations, lines, cycles = found[:, 0], found[:, 1], found[:, 2].copy().view(np.float64)
        slots = [delay_rows(operations, cycles, self._costs), (found[:, _HEAD + 1] != NO_ROW, found[:, _HEAD:])]
        rows, ends = place_rows(slots)
        self._entries.clear()
        self.thread.extend(rows.tobytes())
        self.thread.sources = find_lines(lines, ends, self.kernel.unit.file, self._costs.program)
        return ends
