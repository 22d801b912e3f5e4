"""A thread beside a queue that takes rows during a run, while it may still be at earlier ones.

The engine gives rows to a thread only at its end. So before the simulation goes on, the rows end with an ask: what is added in
the meantime follows there. Rows that are written before the run begins need no ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernbench.program.rows import count_rows

if TYPE_CHECKING:
    from kernbench.program.program import Program

Answers = dict[int, Callable[[], None]]  # by thread: answers its asks


class QueueThread:
    """A thread beside a queue. It may wait for ever, as its rows wait for others. `answers` gets what answers its asks."""

    __slots__ = ("_asks", "_later", "_open", "thread")

    def __init__(self, program: Program, name: str, answers: Answers) -> None:
        self.thread = program.thread(name)
        self._asks = self._open = False  # whether its last row is an ask to come, and whether it should be
        self._later: list[tuple[int, bytes]] = []  # source line and rows, to follow the ask
        answers[self.thread.id] = self._answer

    def extend(self, rows: bytes, source: int) -> int:
        """Append packed rows that a source line issues; returns the index of the first within the thread."""
        if self._asks:
            first = self.thread.row_count + sum(count_rows(later) for _, later in self._later)
            self._later.append((source, rows))
            return first
        self._open = True
        self.thread.begin_source(source)
        return self.thread.extend(rows)

    def close(self) -> None:
        """Let the rows so far end with an ask: the simulation goes on, and more may follow."""
        if self._open:
            self.thread.ask()
            self._asks, self._open = True, False

    def _answer(self) -> None:
        self._asks = False
        later, self._later = self._later, []
        for source, rows in later:
            self.extend(rows, source)
        self.close()
