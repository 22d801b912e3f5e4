"""The script of a group of programs: the rows that each of them writes on its PE, up to the places of its accesses.

Programs of a group do the same work in the same order; they differ in the numbers from which the addresses of their accesses
follow. So the rows of a script are written once, with placeholders for the servers and counters of a PE, and one row for all
transfers of an access. `render` makes rows of them.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.program.ops import GE, NONE, Op
from kernbench.program.plan_template import placeholder
from kernbench.tl.lowering.plan_outline import SERVERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kernbench.triton.lowering.descriptors import Descriptors
    from kernbench.triton.lowering.work import Work

_DELAY, _EXEC, _MOVE, _WAIT, _PIPE = (int(op) for op in (Op.DELAY, Op.EXEC, Op.MOVE, Op.WAIT, Op.PIPE))
LEAD = len(SERVERS)  # the numbers of a PE that stand for placeholders: servers, the lead of a transfer,
SCHEDULER = LEAD + 1  # the server of its scheduler,
FIRST_COUNTER = LEAD + 2  # and as many counters as commands are under way at once
ROW = 9  # a tag, an opcode and seven operands


class Access(NamedTuple):
    """An access to a tensor: its descriptors for a base of 0, and int64[program] the base of each, in bytes."""

    tensor: int
    descriptors: Descriptors
    base: np.ndarray
    write: bool


class Script:
    """The rows of a group of `count` programs as they are written; it is read by `render`."""

    def __init__(self, count: int, before: Script | None = None, transfers: Sequence[int] = ()) -> None:
        self.count = count
        self.rows = array("q")  # ROW each
        self.accesses: list[Access] = []
        self.moves = array("q")  # the row of each access
        self.waits = array("q")  # (row, access) of waits for all transfers of an access
        self.works: list[Work] = []
        self.pipes = array("q")  # the row of each
        self.lines = array("q")  # (row, source line)
        self.counters = before.counters if before else 0
        # Of a program that is rendered piece by piece: the transfers of the accesses of the pieces before.
        self._transfers = {**before._transfers, **dict(enumerate(transfers, before._first))} if before else {}
        self._first = before._first + len(before.accesses) if before else 0

    @property
    def row_count(self) -> int:
        """The number of rows."""
        return len(self.rows) // ROW

    def begin_line(self, source: int) -> None:
        """Say that a source line issues the rows from here on."""
        self.lines.extend((self.row_count, source))

    def delay(self, duration: int, tag: int) -> None:
        """The control CPU is busy."""
        self.rows.extend((tag, _DELAY, duration, 0, 0, 0, 0, 0, 0))

    def schedule(self, duration: int, tag: int) -> None:
        """The scheduler takes a command; its counter is the first."""
        done = self._counter(0)
        self.rows.extend((tag, _EXEC, placeholder(SCHEDULER), duration, done, 0, 0, 0, 0))
        self.rows.extend((0, _WAIT, done, GE, 1, 1, 0, 0, 0))

    def move(self, access: Access, slot: int, server: int, tag: int) -> int:
        """Start the transfers of an access; returns its number."""
        self.moves.append(self.row_count)
        self.accesses.append(access)
        done = self._counter(slot)
        self.rows.extend((tag, _MOVE, 0, 0, 0, done, placeholder(server), NONE, placeholder(LEAD)))
        return self._first + len(self.accesses) - 1

    def pipe(self, work: Work, slot: int, tag: int) -> None:
        """Start a command on the engines."""
        self.pipes.append(self.row_count)
        self.works.append(work)
        self.rows.extend((tag, _PIPE, 0, self._counter(slot), 0, 0, 0, 0, 0))

    def wait(self, slot: int, access: int | None) -> None:
        """Wait for a command, or for all transfers of an access."""
        count = 1
        if access is not None and access >= self._first:
            self.waits.extend((self.row_count, access - self._first))
        elif access is not None:
            count = self._transfers.pop(access)
        self.rows.extend((0, _WAIT, self._counter(slot), GE, count, count, 0, 0, 0))

    def _counter(self, slot: int) -> int:
        self.counters = max(self.counters, slot + 1)
        return placeholder(FIRST_COUNTER + slot)
