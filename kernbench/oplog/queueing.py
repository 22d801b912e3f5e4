"""Queueing, contention and service time of operations, by name.

An operation queues from its issue to its start on its engine or DMA channel. A transfer that shares links or memory channels
takes longer than its uncontended latency: the excess is contention, the rest its service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.uncontended_latency import find_uncontended_latency
from kernbench.oplog.transfer_kinds import LEAD, group_transfers
from kernbench.program.ops import NONE, Op

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
    code = program.op[:, 0].astype(np.int8)
    counted = (code == Op.EXEC) | (code == Op.MOVE)
    counted &= (program.op_tag != 0) & (times.end_fs >= 0) & (times.issue_fs >= since_fs)
    row = np.flatnonzero(counted)
    start_fs = times.start_fs[row]
    queued, took = start_fs - times.issue_fs[row], times.end_fs[row] - start_fs
    contention = np.maximum(took - _uncontended_fs(program, counted, row, took), 0)
    of = program.op_tag[row]
    count = np.bincount(of, minlength=len(program.tags))
    queued_fs, contention_fs, took_fs, longest_fs = np.zeros((4, len(count)), np.int64)
    np.add.at(queued_fs, of, queued)
    np.add.at(contention_fs, of, contention)
    np.add.at(took_fs, of, took)
    np.maximum.at(longest_fs, of, queued)
    columns = zip(count, queued_fs, contention_fs, took_fs - contention_fs, longest_fs, strict=True)
    found = [Queueing(name, *map(int, sums)) for (name, _), sums in zip(program.tags, columns, strict=True) if sums[0]]
    return sorted(found, key=lambda one: (-one.served_fs, one.name))


def _uncontended_fs(program: Program, counted: np.ndarray, row: np.ndarray, took: np.ndarray) -> np.ndarray:
    """int64[n] uncontended latency of the transfers among the counted rows, int64[n]; of others the time they took."""
    duration_fs = program.duration_fs()
    transfers = group_transfers(program, counted, LEAD, which=True)
    alone = [
        find_uncontended_latency(program.machine, route, nbytes).total_fs + int(duration_fs[lead]) if nbytes else NONE
        for route, nbytes, lead in transfers.kinds.tolist()
    ]
    found = np.array([*alone, NONE], np.int64)[transfers.which[row]]
    return np.where(found == NONE, took, found)
