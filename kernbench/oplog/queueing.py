"""Queueing, contention and service time of operations, by name.

An operation queues from its issue to its start on its engine or DMA channel. A transfer that shares links or memory channels
takes longer than its uncontended latency: the excess is contention, the rest its service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.machine.uncontended_latency import find_uncontended_latency
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
    """Sums over all tagged jobs and transfers issued since a time, by name of operation, the longest service first."""
    op = program.op
    row = np.flatnonzero(
        np.isin(op[:, 0], (Op.EXEC, Op.MOVE))
        & (program.op_tag != 0)
        & (times.end_fs >= 0)
        & (times.issue_fs >= since_fs)
    )
    queued = (times.start_fs - times.issue_fs)[row]
    took = (times.end_fs - times.start_fs)[row]
    contention = np.maximum(took - _uncontended_fs(program, row, took), 0)
    found: list[Queueing] = []
    tags: list[int] = np.flatnonzero(np.bincount(program.op_tag[row])).tolist()
    for tag in tags:
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


def _uncontended_fs(program: Program, row: np.ndarray, took: np.ndarray) -> np.ndarray:
    """int64[n] uncontended latency of transfers; of jobs the time they took."""
    alone = took.copy()
    moves = np.flatnonzero((program.op[row, 0] == Op.MOVE) & (program.op[row, 2] > 0))
    kinds = unique_rows(program.op[row[moves]][:, (1, 2, 7)])
    duration_fs = program.duration_fs()
    each = [
        find_uncontended_latency(program.machine, route, nbytes).total_fs + int(duration_fs[lead])
        for route, nbytes, lead in kinds.rows.tolist()
    ]
    alone[moves] = np.array(each, np.int64)[kinds.which]
    return alone
