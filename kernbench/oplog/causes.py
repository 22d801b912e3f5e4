"""The last cause of each row of a finished run: the backward steps of the critical path.

A row of a thread is issued at the end of the last row for which the thread waited. A wait ends with the completion or the
arrival that adds to its counter at that instant. A job or transfer that starts after its issue queued for a server until the
row that left the server at that instant. A stage of a tile follows the stage before it, the first stage follows its pipe, and a
pipe ends with the last stage of its plan. All of these are equalities of times of the run, which are whole femtoseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.program.program import Program

BLOCKING = (Op.DELAY, Op.UNTIL, Op.WAIT)  # the thread continues at their end


class Times(NamedTuple):
    """Issue, start and end of the rows of a program; int64[row], -1: never."""

    issue_fs: np.ndarray
    start_fs: np.ndarray
    end_fs: np.ndarray


class _At:
    """An index of rows by a number and a time: the first row of each pair."""

    def __init__(self, number: np.ndarray, time_fs: np.ndarray, row: np.ndarray) -> None:
        order = np.lexsort((row, time_fs, number))
        keys = zip(number[order][::-1].tolist(), time_fs[order][::-1].tolist(), strict=True)
        self._row = dict(zip(keys, row[order][::-1].tolist(), strict=True))

    def find(self, number: int, time_fs: int) -> int:
        return self._row.get((number, time_fs), NONE)


class Causes:
    """The causes among the rows of one run."""

    def __init__(self, program: Program, times: Times) -> None:
        self._op, self._times = program.op, times
        self._before = _rows_before(program)
        self._stage_before, self._pipe_of = _stages(program)
        self._adding = self._index_addends(program)
        self._leaving = self._index_servers()
        self._last_stage = self._index_plans(program)

    def before_start(self, row: int) -> int:
        """The row that left the server for which a job or transfer queued, at its start; NONE if it did not queue."""
        if self._times.start_fs[row] == self._times.issue_fs[row]:
            return NONE
        server = int(self._op[row, 1 if self._op[row, 0] == Op.EXEC else 5])
        return self._leaving.find(server, int(self._times.start_fs[row]))

    def before_issue(self, row: int) -> int:
        """The row at whose end this one was issued; NONE for the first of a thread."""
        if self._pipe_of[row] != NONE:
            before = int(self._stage_before[row])
            return before if before != NONE else self.before_issue(int(self._pipe_of[row]))
        at = int(self._before[row])
        while at != NONE and self._op[at, 0] not in BLOCKING:
            at = int(self._before[at])
        return at

    def before_end(self, row: int) -> int:
        """The row that ended a wait or a pipe that did not end at once; NONE if it is unknown."""
        end_fs = int(self._times.end_fs[row])
        if self._op[row, 0] == Op.PIPE:
            return self._last_stage.find(int(self._op[row, 1]), end_fs)
        return self._adding.find(int(self._op[row, 1]), end_fs)

    def _index_addends(self, program: Program) -> _At:
        op, end_fs = self._op, self._times.end_fs
        tail_fs = program.machine.routing.tables().tail_fs
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for code, column in ((Op.EXEC, 3), (Op.MOVE, 4), (Op.MOVE, 6), (Op.PIPE, 2), (Op.ADD, 1)):
            row = np.flatnonzero((op[:, 0] == code) & (op[:, column] != NONE) & (end_fs >= 0))
            early = tail_fs[op[row, 1]] if column == 6 else 0  # arrival is before the acknowledgement
            found.append((op[row, column], end_fs[row] - early, row))
        return _At(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def _index_servers(self) -> _At:
        op, end_fs = self._op, self._times.end_fs
        server = np.where(op[:, 0] == Op.EXEC, op[:, 1], np.where(op[:, 0] == Op.MOVE, op[:, 5], NONE))
        row = np.flatnonzero((server != NONE) & (end_fs > self._times.start_fs))
        return _At(server[row], end_fs[row], row)

    def _index_plans(self, program: Program) -> _At:
        first, end = program.token_start, program.token_end
        plan = np.repeat(np.arange(len(program.plan_start) - 1), np.diff(program.plan_start))
        last = end - 1
        return _At(plan[: len(first)], self._times.end_fs[last], last)


def _rows_before(program: Program) -> np.ndarray:
    """int64[row] the row before in the same thread, NONE for the first and for stages."""
    before = np.full(program.row_count, NONE, np.int64)
    own = np.flatnonzero(program.op_thread != NONE)
    by_thread = own[np.argsort(program.op_thread[own], kind="stable")]
    same = program.op_thread[by_thread[1:]] == program.op_thread[by_thread[:-1]]
    before[by_thread[1:][same]] = by_thread[:-1][same]
    return before


def _stages(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """int64[row] the stage before in the same token, and the pipe of a stage; NONE for others."""
    before, pipe_of = (np.full(program.row_count, NONE, np.int64) for _ in range(2))
    for pipe in np.flatnonzero(program.op[:, 0] == Op.PIPE).tolist():
        plan = int(program.op[pipe, 1])
        tokens = slice(int(program.plan_start[plan]), int(program.plan_start[plan + 1]))
        first, end = program.token_start[tokens], program.token_end[tokens]
        stages = np.arange(first[0], end[-1])
        pipe_of[stages] = pipe
        before[stages] = stages - 1
        before[first] = NONE
    return before, pipe_of
