"""Perform the notes of a run in the order in which its rows completed.

The order is (time, thread, row). The time is the end of the row that has the note; of a store, which others see from its
issue, and of a send, which reads its source at its issue, it is the issue. A composite begins at its issue; its tiles are read
and written at the times of their own rows, before all else at that time. Two accesses to one place at one femtosecond are a
race on the device too; here the lower thread always goes first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kernbench.program.op_semantics import Composite, Multicast, Send, Store
from kernbench.program.ops import NONE, Op
from kernbench.replay.timed_store import NEVER

if TYPE_CHECKING:
    from kernbench.program.op_semantics import Note
    from kernbench.program.program import Program


class Performer(Protocol):
    """The object that computes the notes of a thread. `plan` is the plan that the row of a note starts, NONE for none."""

    def begin(self, note: Composite, plan: int, /) -> None:
        """Start a composite; it is performed when it has ended."""
        ...

    def perform(self, note: Note, plan: int, /) -> None:
        """Compute one note."""
        ...


class RunTimes:
    """The times of the rows of a run, and the present time of replay; see `Clock`."""

    def __init__(self) -> None:
        self.now_fs = NEVER - 1
        self.issue_fs = self.end_fs = np.zeros(0, np.int64)


class Replay:
    """The second pass over a program that may still grow; `performer(thread id)` is called once for each thread.

    `times` has the time of each note while it is performed, and the end of all time between two calls.
    """

    def __init__(self, program: Program, performer: Callable[[int], Performer], times: RunTimes | None = None) -> None:
        self._program = program
        self._performer = performer
        self._times = RunTimes() if times is None else times
        self._performers: dict[int, Performer] = {}
        self._done: dict[int, int] = {}  # notes performed, by thread

    def advance(self, issue_fs: np.ndarray, end_fs: np.ndarray) -> None:
        """Perform the notes of rows completed since the last call. Times are int64[row] of the op table; -1: never."""
        steps: list[tuple[int, int, int, bool, int, Note]] = []  # time, thread, row, whether it ends, plan, note
        for thread in self._program.threads:
            fresh = list(thread.notes.items())[self._done.get(thread.id, 0) :]
            for row, note in fresh:
                at = thread.find_row(row)
                if end_fs[at] < 0:
                    break
                plan = NONE
                if isinstance(note, (Composite, Send)):
                    assert self._program.op[at, 0] == Op.PIPE
                    plan = int(self._program.op[at, 1])
                if isinstance(note, Composite):
                    steps.append((int(issue_fs[at]), thread.id, row, False, plan, note))
                time = issue_fs[at] if isinstance(note, (Multicast, Send, Store)) else end_fs[at]
                steps.append((int(time), thread.id, row, True, plan, note))  # pyright: ignore[reportArgumentType]
                self._done[thread.id] = self._done.get(thread.id, 0) + 1
        times = self._times
        times.issue_fs, times.end_fs = issue_fs, end_fs
        for time, thread_id, _, ends, plan, note in sorted(steps, key=lambda step: step[:4]):
            times.now_fs = time
            performer = self._of(thread_id)
            if ends:
                performer.perform(note, plan)
            else:
                performer.begin(note, plan)  # pyright: ignore[reportArgumentType]
        times.now_fs = NEVER - 1

    def _of(self, thread_id: int) -> Performer:
        found = self._performers.get(thread_id)
        if found is None:
            found = self._performers[thread_id] = self._performer(thread_id)
        return found
