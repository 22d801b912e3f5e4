"""Perform the notes of a run in the order in which its rows completed.

The order is (time, thread, row). The time is the end of the row that has the note; of a store, which others see from its
issue, and of a send, which reads its source at its issue, it is the issue. Two accesses to one place at one femtosecond are a
race on the device too; here the lower thread always goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kernbench.program.op_semantics import Send, Store

if TYPE_CHECKING:
    from kernbench.program.op_semantics import Note
    from kernbench.program.program import Program


class Performer(Protocol):
    """The object that computes the notes of a thread."""

    def perform(self, note: Note, /) -> None:
        """Compute one note."""
        ...


class Replay:
    """The second pass over a program that may still grow; `performer(thread id)` is called once for each thread."""

    def __init__(self, program: Program, performer: Callable[[int], Performer]) -> None:
        self._program = program
        self._performer = performer
        self._performers: dict[int, Performer] = {}
        self._done: dict[int, int] = {}  # notes performed, by thread

    def advance(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> None:
        """Perform the notes of rows completed since the last call. Times are int64[row] of the op table; -1: never."""
        steps: list[tuple[int, int, int, Note]] = []
        for thread in self._program.threads:
            fresh = list(thread.notes.items())[self._done.get(thread.id, 0) :]
            for row, note in fresh:
                at = thread.find_row(row)
                if end_fs[at] < 0:
                    break
                time = issue_fs[at] if isinstance(note, (Send, Store)) else end_fs[at]
                steps.append((int(time), thread.id, row, note))  # pyright: ignore[reportArgumentType]
                self._done[thread.id] = self._done.get(thread.id, 0) + 1
        for _, thread_id, _, note in sorted(steps, key=lambda step: step[:3]):
            self._of(thread_id).perform(note)

    def _of(self, thread_id: int) -> Performer:
        found = self._performers.get(thread_id)
        if found is None:
            found = self._performers[thread_id] = self._performer(thread_id)
        return found
