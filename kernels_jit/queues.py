"""Flits that wait: source entries (all flits of a flight standing before a station together) and port queues.

A source entry stands for many flits and is advanced in place; a port queue holds single flits in a ring that doubles when
full. So memory follows the flits in flight, not those still to come.
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.state import (
    FLIGHT_ARRIVED,
    FLIGHT_BASE,
    FLIGHT_FLITS,
    FLIGHT_LATEST_FS,
    FLIGHT_OWNER,
    FLIGHT_ROUTE,
    FLIGHT_SHIFT,
    FLIGHT_STRIPE,
    FLIGHT_TAIL_FS,
    FLIGHT_TAIL_STEP,
    FLIT_MASK,
    FLIT_SHIFT,
    MAX_STRIPES,
    POOL_N,
    PORT_HEAD,
    PORT_MASK,
    PORT_RING,
    PORT_TAIL,
    SOURCE_ENTRY,
    SOURCE_FS,
    SOURCE_NEXT,
    STATION_HEAD_FS,
    STATION_SOURCE,
    STATION_SOURCE_LAST,
)
from kernels_jit.tables import ROUTE_START, STEP_STATION, STEP_STRIPES

_NONE = codes.NONE


@jit
def comes_first(flight, a, b):
    """Whether of two packed flits that come to a station at one instant the first is served first.

    `flight` is the table of flights alone: a call in the hot path must not carry the whole state.
    """
    one, other = flight[a >> FLIGHT_SHIFT, FLIGHT_OWNER], flight[b >> FLIGHT_SHIFT, FLIGHT_OWNER]
    return one < other or (one == other and (a >> FLIT_SHIFT) & FLIT_MASK < (b >> FLIT_SHIFT) & FLIT_MASK)


@jit
def note_arrival(net, s, station, time):
    """A flit will be at a station at a time: the station has work."""
    if time < s.station[station, STATION_HEAD_FS]:
        s.station[station, STATION_HEAD_FS] = time
    rank = net.rank[station]
    s.pending[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)


@jit
def inject(net, s, flight, step, time):
    """All flits of a flight stand before step `step` (of all routes' steps) from `time` on."""
    stripes, stripe, flits = (
        net.step[step, STEP_STRIPES],
        s.flight[flight, FLIGHT_STRIPE],
        s.flight[flight, FLIGHT_FLITS],
    )
    relative = step - net.route[s.flight[flight, FLIGHT_ROUTE], ROUTE_START]
    s.flight[flight, FLIGHT_ARRIVED] = 0
    s.flight[flight, FLIGHT_LATEST_FS] = 0
    s.flight[flight, FLIGHT_BASE] = step
    s.flight[flight, FLIGHT_TAIL_STEP] = step
    s.flight[flight, FLIGHT_TAIL_FS] = time
    for j in range(min(stripes, flits)):
        station = net.step[step, STEP_STATION]
        if stripes > 1:
            station += (stripe + j) % stripes
        entry = (flight << FLIGHT_SHIFT) | (j << FLIT_SHIFT) | relative
        _insert_source(s, station, flight * s.scalar[MAX_STRIPES] + j, time, entry)
        note_arrival(net, s, station, time)


@jit
def _insert_source(s, station, node, time, entry):
    """Put a source entry where (time, owner) says; nearly always that is the end."""
    s.source[node, SOURCE_FS], s.source[node, SOURCE_ENTRY], s.source[node, SOURCE_NEXT] = time, entry, _NONE
    at = s.station[station, STATION_SOURCE]
    if at == _NONE:
        s.station[station, STATION_SOURCE] = s.station[station, STATION_SOURCE_LAST] = node
        return
    last = s.station[station, STATION_SOURCE_LAST]
    if _source_first(s, last, node):
        s.source[last, SOURCE_NEXT] = node
        s.station[station, STATION_SOURCE_LAST] = node
        return
    if _source_first(s, node, at):
        s.source[node, SOURCE_NEXT] = at
        s.station[station, STATION_SOURCE] = node
        return
    while _source_first(s, s.source[at, SOURCE_NEXT], node):
        at = s.source[at, SOURCE_NEXT]
    s.source[node, SOURCE_NEXT] = s.source[at, SOURCE_NEXT]
    s.source[at, SOURCE_NEXT] = node


@jit
def _source_first(s, a, b):
    if s.source[a, SOURCE_FS] != s.source[b, SOURCE_FS]:
        return s.source[a, SOURCE_FS] < s.source[b, SOURCE_FS]
    return comes_first(s.flight, s.source[a, SOURCE_ENTRY], s.source[b, SOURCE_ENTRY])


@jit
def widen(s, port, pool):
    """Give a full port queue a ring of twice the length; answers the pool, enlarged if it had no room."""
    old, size = s.port[port, PORT_RING], s.port[port, PORT_MASK] + 1
    at = s.scalar[POOL_N]
    if at + 2 * size > pool.shape[0]:
        more = np.empty((max(2 * pool.shape[0], at + 2 * size), 2), np.int64)
        more[:at] = pool[:at]
        pool = more
    head = s.port[port, PORT_HEAD]
    for k in range(size):
        slot = old + ((head + k) & (size - 1))
        pool[at + k, 0], pool[at + k, 1] = pool[slot, 0], pool[slot, 1]
    s.port[port, PORT_RING], s.port[port, PORT_MASK] = at, 2 * size - 1
    s.port[port, PORT_HEAD], s.port[port, PORT_TAIL] = 0, size
    s.scalar[POOL_N] = at + 2 * size
    return pool
