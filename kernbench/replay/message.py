"""A message between PEs in flight: the numbers of its source as it was sent, until its slot is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernbench.replay.timed_store import NEVER, Segment

if TYPE_CHECKING:
    from kernbench.program.program import Program
    from kernbench.replay.store import MemoryStore


class Message:
    """A message from its send to the write of its slot; see `Transaction`.

    `find_row` returns the row of the op table that writes the slot, None as long as it is not there; `order` is that of writes
    at one instant.
    """

    reads: Sequence[Segment] = ()

    def __init__(
        self,
        find_row: Callable[[], int | None],
        order: tuple[int, int],
        slot: tuple[int, int],
        data: np.ndarray,
        memory: MemoryStore,
    ) -> None:
        self._find_row, self._order = find_row, order
        self._data = np.array(data, order="C").reshape(-1).view(np.uint8)
        self._slot, self._memory = slot, memory
        self.writes: Sequence[Segment] = ((*slot, len(self._data)),)
        self.is_done = False
        self._arrival_fs = NEVER

    def look(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> None:  # noqa: ARG002
        """Find the end of the write of the slot."""
        row = self._find_row()
        if row is not None and row < len(end_fs) and end_fs[row] >= 0:
            self._arrival_fs = int(end_fs[row])

    def next_write(self) -> tuple[int, int, int]:
        """(time, thread, number) of the write of the slot; NEVER as time if it is not known, or done."""
        return (NEVER if self.is_done else self._arrival_fs, *self._order)

    def read_until(self, time_fs: int) -> None:
        """Nothing: the source has been read."""

    def write_first(self) -> None:
        """Write the slot."""
        self._memory.write(*self._slot, self._data)
        self.is_done = True

    def write_until(self, time_fs: int) -> None:
        """Write the slot if it is written by then."""
        if not self.is_done and self._arrival_fs <= time_fs:
            self.write_first()


def last_stage(program: Program, plan: int) -> int | None:
    """The row of the op table of the last stage of a plan of one token; None until it exists."""
    return int(program.token_end[program.plan_start[plan]]) - 1 if plan < len(program.plan_rows) else None


def row_of(program: Program, thread: int, row: int) -> int | None:
    """The row of the op table of a row of a thread; None until it exists."""
    found = program.threads[thread]
    return found.find_row(row) if row < found.row_count - found.pending_rows else None
