"""The last cause of each row of a finished run: the backward steps of the critical path.

A row of a thread is issued at the end of the last row for which the thread waited. A wait ends with the completion or the
arrival that adds to its counter at that instant, an arrival of a transfer to many with that transfer. A job or transfer that
starts after its issue queued for a server until the row that left the server at that instant. A stage of a tile follows the
stage before it, the first stage follows its pipe, and a pipe ends with the last stage of its plan. All of these are
equalities of times of the run, in whole femtoseconds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.encoded_rows import EncodedRows
from kernbench.program.ops import NONE
from kernels_jit.layout import codes  # plain integers: reading an enum's member costs a lookup

if TYPE_CHECKING:
    from kernbench.program.program import Program


class Times(NamedTuple):
    """Issue, start and end of the rows of a program; int64[row], -1: never."""

    issue_fs: np.ndarray
    start_fs: np.ndarray
    end_fs: np.ndarray


class _ByNumber:
    """Rows by a number that each has, such as its server; rows and numbers are int64[n], rows rising."""

    def __init__(self, row: np.ndarray, number: np.ndarray, time_fs: np.ndarray) -> None:
        few = len(number) == 0 or int(number.max()) < 1 << 15
        order = np.argsort(number.astype(np.int16) if few else number, kind="stable")  # of 16 bits it is much faster
        self._row, self._time_fs = row[order], time_fs[order]
        self._start = np.concatenate([[0], np.cumsum(np.bincount(number))])

    def find(self, number: int, time_fs: int) -> int:
        """The first row with a number and a time, or NONE."""
        if not 0 <= number < len(self._start) - 1:
            return NONE
        here = slice(self._start[number], self._start[number + 1])
        found = np.flatnonzero(self._time_fs[here] == time_fs)
        return int(self._row[here][found[0]]) if len(found) else NONE


def find_transfer(op: EncodedRows, row: int) -> int:
    """The transfer to many that a row is an arrival of; any other row is itself."""
    while op[row, 0] == codes.ARRIVE:
        row -= 1
    return row


class Causes:
    """The causes among the rows of one run."""

    def __init__(self, program: Program, times: Times) -> None:
        self._op, self._times = program.op, times
        self._own = np.flatnonzero(program.op_thread != NONE)  # rows of threads; all others are stages of tokens
        self._own_before = _rows_before(program.op_thread[self._own], self._own)
        self._token_start = program.token_start
        self._plan_start_row = np.array(program.plan_rows, np.int64)
        pipes = self._own[self._op[self._own, 0] == codes.PIPE]
        self._pipe_of_plan = np.full(len(program.plan_rows), NONE, np.int64)
        self._pipe_of_plan[self._op[pipes, 1]] = pipes
        self._adding = self._index_addends(program)
        self._leaving = self._index_servers()
        self._last_stage = self._index_plans(program)

    def before_start(self, row: int) -> int:
        """The row that left the server for which a job or transfer queued, at its start; NONE if it did not queue."""
        if self._times.start_fs[row] == self._times.issue_fs[row]:
            return NONE
        server = int(self._op[row, 1 if self._op[row, 0] == codes.EXEC else 5])
        return self._leaving.find(server, int(self._times.start_fs[row]))

    def before_issue(self, row: int) -> int:
        """The row at whose end this one was issued; NONE for the first of a thread."""
        place = int(np.searchsorted(self._own, row))
        if place == len(self._own) or self._own[place] != row:
            return self._before_stage(row)
        at = int(self._own_before[place])
        while at != NONE and self._op[at, 0] not in codes.BLOCKING:
            at = int(self._own_before[np.searchsorted(self._own, at)])
        return at

    def before_end(self, row: int) -> int:
        """The row that ended a wait or a pipe that did not end at once; NONE if it is unknown."""
        end_fs = int(self._times.end_fs[row])
        if self._op[row, 0] == codes.PIPE:
            return self._last_stage.find(int(self._op[row, 1]), end_fs)
        found = self._adding.find(int(self._op[row, 1]), end_fs)
        return found if found == NONE else find_transfer(self._op, found)

    def _before_stage(self, row: int) -> int:
        """The stage before one; before the first of a token, what its pipe was issued by."""
        token = int(np.searchsorted(self._token_start, row, "right")) - 1
        if row > self._token_start[token]:
            return row - 1
        return self.before_issue(self.pipe_of(row))

    def pipe_of(self, row: int) -> int:
        """The row that started the plan of a stage."""
        return int(self._pipe_of_plan[int(np.searchsorted(self._plan_start_row, row, "right")) - 1])

    def _index_addends(self, program: Program) -> _ByNumber:
        own = self._own
        op, end_fs = self._op[own], self._times.end_fs[own]
        tail_fs = program.machine.routing.tables().tail_fs
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for code, column in codes.ADDENDS:
            at = np.flatnonzero((op[:, 0] == code) & (op[:, column] != NONE) & (end_fs >= 0))
            early = tail_fs[op[at, 1]] if column == 6 else 0  # arrival is before the acknowledgement
            found.append((own[at], op[at, column], end_fs[at] - early))
        row, number, time_fs = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(row, kind="stable")
        return _ByNumber(row[order], number[order], time_fs[order])

    def _index_servers(self) -> _ByNumber:
        from kernels_jit.measure.held_servers import find_held_servers

        held = EncodedRows(np.empty(len(self._op.values), np.int32), self._op.entry)
        find_held_servers(self._op.values, held.values)
        row = np.flatnonzero((self._times.end_fs > self._times.start_fs) & (held >= 0))
        return _ByNumber(row, held[row], self._times.end_fs[row])

    def _index_plans(self, program: Program) -> _ByNumber:
        plan = np.repeat(np.arange(len(program.plan_start) - 1), np.diff(program.plan_start))
        last = program.token_end - 1
        return _ByNumber(last, plan[: len(last)], self._times.end_fs[last])


def _rows_before(thread: np.ndarray, row: np.ndarray) -> np.ndarray:
    """int64[n] the row before each in the same thread, NONE for the first; rows are rising."""
    before = np.full(len(row), NONE, np.int64)
    order = np.argsort(thread, kind="stable")
    same = thread[order][1:] == thread[order][:-1]
    before[order[1:][same]] = row[order[:-1][same]]
    return before
