"""Many runs of one program in one call: on machines of one structure, which differ in times alone.

What the runs have in common is laid once, as a template of the memory. For each point it is copied, the words that differ
are put into it, and what follows from them is found again: in which order stations are visited, how far a sweep may go and
how far stations look ahead. Then the loop runs as it does for a point by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.alone import service_fs
from kernels_jit.order import look_ahead, visit_order
from kernels_jit.pointer import run_at
from kernels_jit.state import (
    AHEAD_FS,
    EVENTS,
    FLYING,
    HEAP_N,
    LATEST,
    NEVER,
    NOW,
    PORT_COLUMNS,
    PORT_RANK,
    SLACK_FS,
    STATION_COLUMNS,
    STATION_FLITS,
    STATION_PORT,
    STATION_PORT_END,
    STATION_PROPAGATION_FS,
    STATION_RANK,
    STATION_TURN_FS,
    STATIONS,
    THREAD_COLUMNS,
    THREAD_CURSOR,
    THREAD_END,
    THREAD_N,
    THREADS,
    VISIT_AHEAD_FS,
    VISIT_COLUMNS,
    VISIT_STATION,
    VISIT_TURN_FS,
    VISITS,
    WINDOW_FS,
)

# Columns of what is found out about a point: the time of its last event, events, flits over links, and what is left at the
# end (threads that wait; events and transfers that come later than can be counted).
FOUND_NOW_FS, FOUND_EVENTS, FOUND_HOPS, FOUND_LEFT, FOUND_COLUMNS = 0, 1, 2, 3, 4


class Common(NamedTuple):
    """What the points of a group have in common."""

    template: np.ndarray  # int64[word] the memory of a run that has not begun
    op: np.ndarray  # int64[row, ROW_WIDTH]
    word: np.ndarray  # int64[] where the words stand that differ
    column: np.ndarray  # int64[] in which column of the points' values each is
    order: np.ndarray  # int64[station] of visits, unless it follows from latencies
    cyclic: bool  # it does: the graph of channels has cycles
    sources: np.ndarray  # bool[station] whether a route begins there
    before_start: np.ndarray  # int64[station + 1] into the edges of that graph
    before: np.ndarray  # int64[edge] the station that feeds
    after: np.ndarray  # int64[edge] the station that is fed
    flit_edge: np.ndarray  # int64[flit] the smallest flits that take an edge
    flit_bytes: np.ndarray  # int64[flit]
    edge_count: int  # stations before this one are links


@jit
def run_points(loop, common, values, m, times, pool, found, point, begun, most_events):
    """Run points from `point` on, until all are done or about `most_events` events. A point may have begun before.

    Arguments: what `pointer.address_of_run` answers, `Common`, int64[point, column] words that differ, int64[word] memory as
    long as the template, int64[point, row, OP_COLUMNS] times, int64[slot, 2] queued flits, int64[point, FOUND_COLUMNS], two
    ints, int. Answers (status, point, pool). With IDLE the points before the one answered are done. Any other status is that
    of `loop.run` for this point: after MORE it has begun; a pool that must grow must do so in the template, and the point
    begins anew.
    """
    while point < values.shape[0]:
        if begun == 0:
            lay(common, values[point], m)
            own = times[point]
            for row in range(own.shape[0]):
                for column in range(own.shape[1]):
                    own[row, column] = codes.NONE
        begun = 0
        before = m[EVENTS]
        status, pool = run_at(loop, m, common.op, times[point], pool, most_events)
        if status != codes.IDLE:
            return status, point, pool
        note(common, m, found[point])
        point += 1
        most_events -= m[EVENTS] - before
        if most_events <= 0:
            break
    return codes.IDLE, point, pool


@jit
def lay(common, values, m):
    """The memory of a point that has not begun: the template with int64[column] of its own words."""
    for word in range(common.template.size):
        m[word] = common.template[word]
    for k in range(common.word.size):
        m[common.word[k]] = values[common.column[k]]
    latency_fs = np.full(common.before.size, NEVER, np.int64)
    for k in range(common.flit_edge.size):
        edge = common.flit_edge[k]
        station = m[STATIONS] + common.before[edge] * STATION_COLUMNS
        fs = service_fs(m, station, common.flit_bytes[k]) + m[station + STATION_PROPAGATION_FS]
        latency_fs[edge] = min(latency_fs[edge], fs)
    order, stations = common.order, m[STATIONS]
    if common.cyclic:
        order, window_fs = visit_order(order.size, common.before, common.after, latency_fs, NEVER)
        m[WINDOW_FS] = min(window_fs, m[WINDOW_FS])
        for rank in range(order.size):
            station = stations + order[rank] * STATION_COLUMNS
            m[station + STATION_RANK] = rank
            m[m[VISITS] + rank * VISIT_COLUMNS + VISIT_STATION] = station
            for port in range(m[station + STATION_PORT], m[station + STATION_PORT_END], PORT_COLUMNS):
                m[port + PORT_RANK] = rank
    ahead = look_ahead(order, common.before_start, common.before, latency_fs, common.sources, m[SLACK_FS])
    m[AHEAD_FS] = 0
    for rank in range(order.size):
        visit = m[VISITS] + rank * VISIT_COLUMNS
        m[visit + VISIT_TURN_FS] = m[m[visit + VISIT_STATION] + STATION_TURN_FS]
        m[visit + VISIT_AHEAD_FS] = ahead[order[rank]]
        m[AHEAD_FS] = max(m[AHEAD_FS], ahead[order[rank]])


@jit
def note(common, m, found):
    """Find out about a point whose run has come to its end: int64[FOUND_COLUMNS]."""
    found[FOUND_NOW_FS] = max(m[NOW], m[LATEST])
    found[FOUND_EVENTS] = m[EVENTS]
    found[FOUND_HOPS] = 0
    for station in range(common.edge_count):
        found[FOUND_HOPS] += m[m[STATIONS] + station * STATION_COLUMNS + STATION_FLITS]
    found[FOUND_LEFT] = m[HEAP_N] + m[FLYING]
    for thread in range(m[THREAD_N]):
        at = m[THREADS] + thread * THREAD_COLUMNS
        found[FOUND_LEFT] += m[at + THREAD_CURSOR] < m[at + THREAD_END]
