"""Batches of runs: one program on machines of one structure, which differ in times alone, in one call.

What the runs have in common is laid out once, as a template of the memory. For each point it is copied, the words that differ
are put into it, and what follows from them is found again: the visit order, how far a pass may go and how far stations look
ahead. Then the loop runs as it does for a point by itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import index_pointer_to, pointer_to
from kernels_jit.flits.closed_form import service_fs
from kernels_jit.layout import codes
from kernels_jit.layout.access import PORT_WORDS, STATION_WORDS, port_at, state_at, station_at, thread_at, visit_at
from kernels_jit.layout.records import NEVER
from kernels_jit.loop.loop import advance
from kernels_jit.loop.visit_order import look_ahead, visit_order
from kernels_jit.servers.chains import clear_times

# Columns of what is found out about a point: the time of its last event, events, flits over links, and what is left at the
# end (threads that wait; events and transfers that come later than can be counted).
FOUND_NOW_FS, FOUND_EVENTS, FOUND_HOPS, FOUND_LEFT, FOUND_COLUMNS = 0, 1, 2, 3, 4
WORDS_A_LOOK = 16  # of the template that are copied in the time of a look


class Common(NamedTuple):
    """What the points of a batch have in common."""

    template: np.ndarray  # int64[word] the memory of a run that has not begun
    op: np.ndarray  # int64[entry, ROW_WIDTH]
    entry: np.ndarray  # int32[row]
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
def run_points(
    common: Common,
    values: np.ndarray,
    words: np.ndarray,
    times: np.ndarray,
    pool: np.ndarray,
    found: np.ndarray,
    point: int,
    begun: int,
    most_work: int,
) -> tuple[int, int]:
    """Run points from `point` on, until all are done or about `most_work` is. A point may have begun before.

    Arguments: `Common`, int64[point, column] words that differ, int64[word] memory as long as the template, TIME[point, row]
    times, int64[slot, 2] queued flits, int64[point, FOUND_COLUMNS], two ints, int. Returns (status, point). With IDLE the
    points before the one returned are done. Any other status is that of `loop.run` for this point. It has begun; if a pool
    of the memory must grow, that is done in the template, and the point begins anew.
    """
    while point < values.shape[0]:
        if begun == 0:
            lay_out(common, values[point], words)
            own = times[point]
            for row in range(own.shape[0]):
                clear_times(pointer_to(own), row)
        begun = 0
        rows = pointer_to(common.op), index_pointer_to(common.entry)
        m, slots = pointer_to(words), pointer_to(pool)
        status = advance(m, rows, pointer_to(times[point]), slots, pool.shape[0], most_work)
        if status != codes.IDLE:
            return status, point
        note(common, words, found[point])
        point += 1
        state = state_at(pointer_to(words), 0)
        most_work = state.stop - state.events - state.looks - common.template.size // WORDS_A_LOOK
        if most_work <= 0:
            break
    return codes.IDLE, point


@jit
def lay_out(common, values, words):
    """The memory of a point that has not begun: the template with int64[column] of its own words."""
    for word in range(common.template.size):
        words[word] = common.template[word]
    for k in range(common.word.size):
        words[common.word[k]] = values[common.column[k]]
    m = pointer_to(words)
    state = state_at(m, 0)
    latency_fs = np.full(common.before.size, NEVER, np.int64)
    for k in range(common.flit_edge.size):
        edge = common.flit_edge[k]
        station = station_at(m, state.stations + common.before[edge] * STATION_WORDS)
        fs = service_fs(m, station, common.flit_bytes[k]) + station.propagation_fs
        latency_fs[edge] = min(latency_fs[edge], fs)
    order = common.order
    if common.cyclic:
        order, room = np.empty(order.size, np.int64), np.empty((4, order.size + 1), np.int64)
        onward = np.empty(common.before.size, np.int64)
        window_fs = visit_order(common.before, common.after, latency_fs, np.int64(NEVER), order, room, onward)
        state.window_fs = min(window_fs, state.window_fs)
        for rank in range(order.size):
            place = state.stations + order[rank] * STATION_WORDS
            station = station_at(m, place)
            station.rank = rank
            visit_at(m, rank).station = place
            for port in range(station.port, station.port_end, PORT_WORDS):
                port_at(m, port).rank = rank
    ahead = np.empty(order.size, np.int64)
    look_ahead(order, common.before_start, common.before, latency_fs, common.sources, state.slack_fs, ahead)
    state.ahead_fs = 0
    for rank in range(order.size):
        visit = visit_at(m, rank)
        visit.turn_fs = station_at(m, visit.station).turn_fs
        visit.ahead_fs = ahead[order[rank]]
        state.ahead_fs = max(state.ahead_fs, visit.ahead_fs)


@jit
def note(common, words, found):
    """Find out about a point whose run has come to its end: int64[FOUND_COLUMNS]."""
    m = pointer_to(words)
    state = state_at(m, 0)
    found[FOUND_NOW_FS] = max(state.now_fs, state.latest_fs)
    found[FOUND_EVENTS] = state.events
    found[FOUND_HOPS] = 0
    for station in range(common.edge_count):
        found[FOUND_HOPS] += station_at(m, state.stations + station * STATION_WORDS).flits
    found[FOUND_LEFT] = state.heap_n + state.in_flight + (found[FOUND_NOW_FS] >= NEVER)
    for number in range(state.thread_n):
        thread = thread_at(m, number)
        found[FOUND_LEFT] += thread.cursor < thread.end
