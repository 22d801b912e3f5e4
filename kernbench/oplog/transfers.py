"""Transfers of a run: when their data were on the way, and where to.

| kind | data leave their source | data are at their destination |
|---|---|---|
| read | when the request is at the memory | when the row ends |
| write, message | after the lead of the row, such as an address translation | before the acknowledgement |
| to many | the same | when the arrival of each destination ends |

All of these are exact. The flits of a transfer have no times of their own in the op log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.arrays import expand_ranges
from kernbench.program.ops import Op
from kernels_jit.layout.codes import READ

if TYPE_CHECKING:
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program


class Transfers(NamedTuple):
    """Transfers among rows of a program."""

    at: np.ndarray  # int64[transfer] its place among the rows
    leave_fs: np.ndarray  # int64[transfer] the first byte leaves the source
    arrive_fs: np.ndarray  # int64[transfer] the last byte is at the destination, or at the last of them
    is_read: np.ndarray  # bool[transfer] the row is at the destination, else at the source
    far: FarEnds


class FarEnds(NamedTuple):
    """The other ends of transfers: of each one, but a row for each destination of a transfer to many."""

    transfer: np.ndarray  # int64[end]
    node: np.ndarray  # int64[end] of the machine
    time_fs: np.ndarray  # int64[end] when data leave there or are there


def find_transfers(program: Program, times: Times, row: np.ndarray, *, ends: bool = True) -> Transfers:
    """The transfers among int64[n] rows of the op table that have ended; without `ends` the other ends are left out."""
    at = np.flatnonzero(program.op[row, 0] == Op.MOVE)
    row = row[at]
    route, lead = program.op[row, 1], program.op[row, 7]
    tables = program.machine.routing.tables()
    is_read = tables.direction[route] == READ
    leave_fs = times.start_fs[row] + program.duration_fs()[lead] + np.where(is_read, tables.lead_fs[route], 0)
    arrive_fs = times.end_fs[row] - tables.tail_fs[route]
    many = np.flatnonzero(tables.destinations[route])
    count = np.ones(len(row), np.int64)
    count[many] = tables.destinations[route[many]]
    arrival, of = expand_ranges(row[many] + 1, row[many] + 1 + count[many])
    arrivals_fs = times.end_fs[arrival]
    arrive_fs[many] = leave_fs[many]
    np.maximum.at(arrive_fs, many[of], arrivals_fs)
    if not ends:
        none = np.zeros(0, np.int64)
        return Transfers(at, leave_fs, arrive_fs, is_read, FarEnds(none, none, none))
    transfer = np.repeat(np.arange(len(row)), count)
    time_fs = np.where(is_read, leave_fs, arrive_fs)[transfer]
    time_fs[tables.destinations[route[transfer]] > 0] = arrivals_fs
    return Transfers(at, leave_fs, arrive_fs, is_read, FarEnds(transfer, _destinations(program, route), time_fs))


def _destinations(program: Program, route: np.ndarray) -> np.ndarray:
    """int64[end] the nodes to which int64[transfer] routes lead, transfer after transfer."""
    routes, which = np.unique(route, return_inverse=True)
    nodes = [program.machine.routing.destinations(one) for one in routes.tolist()]
    count = np.array([len(one) for one in nodes], np.int64)
    start = np.cumsum(count) - count
    at, _ = expand_ranges(start[which], (start + count)[which])
    return np.array([node for one in nodes for node in one], np.int64)[at]
