"""Queueing, contention and service time of operations, by name.

An operation queues from its issue to its start on its engine or DMA channel. A transfer that shares links or memory channels
takes longer than its uncontended latency: the excess is contention, the rest its service.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.network.uncontended_latency import find_uncontended_latency
from kernbench.oplog.transfer_kinds import LEAD, group_transfers
from kernbench.program.ops import NONE, Op

if TYPE_CHECKING:
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program


class Queueing(NamedTuple):
    """Sums over the operations of one name, in femtoseconds."""

    name: str
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    queued_fs: int
    contention_fs: int  # of transfers
    served_fs: int
    longest_queue_fs: int


def find_queueing(program: Program, times: Times, since_fs: int = 0) -> list[Queueing]:
    """Sums over all tagged jobs and transfers issued since a time, by name of operation, the longest service first."""
    from kernels_jit.measure.tag_sums import CARRY_SHIFT, COLUMNS, add_by_tag

    code, tag = program.op.values[:, 0], program.op_tag.values
    counted = (((code == Op.EXEC) | (code == Op.MOVE)) & (tag != 0))[program.op.entry]
    counted &= (times.end_fs >= 0) & (times.issue_fs >= since_fs)
    row = np.flatnonzero(counted)
    start_fs = times.start_fs[row]
    queued, took = start_fs - times.issue_fs[row], times.end_fs[row] - start_fs
    sums = np.zeros((len(program.tags), COLUMNS), np.int64)
    add_by_tag(program.op_tag[row], queued, took, _uncontended_fs(program, counted, row, took), sums)
    found: list[Queueing] = []
    for (name, _), (count, longest_fs, *pairs) in zip(program.tags, sums.tolist(), strict=True):
        queued_fs, contention_fs, took_fs = (
            low + (carried << CARRY_SHIFT) for low, carried in zip(pairs[::2], pairs[1::2], strict=True)
        )
        if count:
            found.append(Queueing(name, count, queued_fs, contention_fs, took_fs - contention_fs, longest_fs))
    return sorted(found, key=lambda one: (-one.served_fs, one.name))


def _uncontended_fs(program: Program, counted: np.ndarray, row: np.ndarray, took: np.ndarray) -> np.ndarray:
    """int64[n] uncontended latency of the transfers among the counted rows, int64[n]; of others the time they took."""
    duration_fs = program.duration_fs()
    transfers = group_transfers(program, counted, LEAD)
    alone = [
        find_uncontended_latency(program.machine, route, nbytes).total_fs + int(duration_fs[lead]) if nbytes else NONE
        for route, nbytes, lead in transfers.kinds.tolist()
    ]
    found = np.array([*alone, NONE], np.int64)[transfers.which[row]]
    return np.where(found == NONE, took, found)
