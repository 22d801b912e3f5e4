"""How long operations waited beside how long they were served, by what they were.

An operation queues from when it was asked for to when its engine or DMA channel took it. In flight, a transfer that shares
links or memory channels takes longer than alone: that is contention, and the rest its service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.machine.uncontended_latency import find_passage
from kernbench.program.ops import Op

if TYPE_CHECKING:
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program


class Queueing(NamedTuple):
    """Sums over the operations of one name, in femtoseconds."""

    name: str
    count: int
    queued_fs: int
    contention_fs: int  # of transfers
    served_fs: int
    longest_queue_fs: int


def find_queueing(program: Program, times: Times, since_fs: int = 0) -> list[Queueing]:
    """By name of operation, the longest served first: all tagged jobs and transfers asked for from a time on."""
    op = program.op
    row = np.flatnonzero(
        np.isin(op[:, 0], (Op.EXEC, Op.MOVE))
        & (program.op_tag != 0)
        & (times.end_fs >= 0)
        & (times.issue_fs >= since_fs)
    )
    queued = (times.start_fs - times.issue_fs)[row]
    took = (times.end_fs - times.start_fs)[row]
    contention = np.maximum(took - _alone_fs(program, row, took), 0)
    found = []
    for tag in np.unique(program.op_tag[row]).tolist():
        here = program.op_tag[row] == tag
        shared = int(contention[here].sum())
        found.append(
            Queueing(
                program.tags[tag][0],
                int(here.sum()),
                int(queued[here].sum()),
                shared,
                int(took[here].sum()) - shared,
                int(queued[here].max()),
            )
        )
    return sorted(found, key=lambda one: (-one.served_fs, one.name))


def _alone_fs(program: Program, row: np.ndarray, took: np.ndarray) -> np.ndarray:
    """int64[n] what transfers would have taken alone; jobs what they took."""
    alone = took.copy()
    moves = np.flatnonzero((program.op[row, 0] == Op.MOVE) & (program.op[row, 2] > 0))
    kinds = unique_rows(program.op[row[moves]][:, (1, 2, 7)])
    duration_fs = program.duration_fs()
    each = [
        find_passage(program.machine, route, nbytes).total_fs + int(duration_fs[lead])
        for route, nbytes, lead in kinds.rows.tolist()
    ]
    alone[moves] = np.array(each, np.int64)[kinds.which]
    return alone
