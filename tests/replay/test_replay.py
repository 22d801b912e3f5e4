"""The order of the second pass."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from kernbench.program.op_semantics import Load, Note, Store
from kernbench.program.program import Program
from kernbench.replay.replay import Replay


class Recorder:
    def __init__(self, thread: int, seen: list[tuple[int, Note]]) -> None:
        self.thread, self.seen = thread, seen

    def begin(self, note: Note, plan: int) -> None:
        self.seen.append((self.thread, note))

    def perform(self, note: Note, plan: int) -> None:
        self.seen.append((self.thread, note))


def test_by_completion_but_stores_by_issue_then_by_thread() -> None:
    program = Program(SimpleNamespace(figures={}))  # pyright: ignore[reportArgumentType]
    loads = []
    for name in "ab":
        thread = program.thread(name)
        row = thread.mark(0)
        loads.append(Load(0, 0, (1,), "f16"))
        thread.note(row, loads[-1])
    store = Store((0,), 0, (1,), "f16")
    program.threads[1].note(program.threads[1].mark(0), store)
    program.flush()
    seen: list[tuple[int, Note]] = []
    replay = Replay(program, lambda thread: Recorder(thread, seen))

    replay.advance(np.array([0, 0, 5]), np.array([7, 4, -1]))
    assert seen == [(1, loads[1]), (0, loads[0])]
    replay.advance(np.array([0, 0, 5]), np.array([7, 4, 30]))
    assert seen[2:] == [(1, store)]
    replay.advance(np.array([0, 0, 5]), np.array([7, 4, 30]))
    assert len(seen) == 3
