"""Flits that wait: source entries (all flits of a flight standing before a station together) and port queues.

A source entry stands for many flits and is advanced in place; a port queue holds single flits in a ring that doubles when
full. So memory follows the flits in flight, not those still to come.
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.state import (
    FLIGHT_SHIFT,
    FLIT_MASK,
    FLIT_SHIFT,
    MAX_STRIPES,
    POOL_N,
)

_NONE = codes.NONE


@jit
def comes_first(s, a, b):
    """Whether of two packed flits that come to a station at one instant the first is served first."""
    one, other = s.flight_owner[a >> FLIGHT_SHIFT], s.flight_owner[b >> FLIGHT_SHIFT]
    return one < other or (one == other and (a >> FLIT_SHIFT) & FLIT_MASK < (b >> FLIT_SHIFT) & FLIT_MASK)


@jit
def note_arrival(net, s, station, time):
    """A flit will be at a station at a time: the station has work."""
    if time < s.station_head_fs[station]:
        s.station_head_fs[station] = time
    rank = net.rank[station]
    s.pending[rank >> 6] |= np.uint64(1) << np.uint64(rank & 63)


@jit
def inject(net, s, flight, step, time):
    """All flits of a flight stand before step `step` (of all routes' steps) from `time` on."""
    routes = net.routes
    stripes, stripe, flits = routes.stripes[step], s.flight_stripe[flight], s.flight_flits[flight]
    relative = step - routes.start[s.flight_route[flight]]
    s.flight_arrived[flight] = 0
    s.flight_latest_fs[flight] = 0
    s.flight_base[flight] = step
    s.flight_tail_step[flight] = step
    s.flight_tail_fs[flight] = time
    for j in range(min(stripes, flits)):
        station = routes.station[step]
        if stripes > 1:
            station += (stripe + j) % stripes
        entry = (flight << FLIGHT_SHIFT) | (j << FLIT_SHIFT) | relative
        _insert_source(s, station, flight * s.scalar[MAX_STRIPES] + j, time, entry)
        note_arrival(net, s, station, time)


@jit
def _insert_source(s, station, node, time, entry):
    """Put a source entry where (time, owner) says; nearly always that is the end."""
    s.source_fs[node], s.source_entry[node], s.source_next[node] = time, entry, _NONE
    at = s.station_source[station]
    if at == _NONE:
        s.station_source[station] = s.station_source_last[station] = node
        return
    last = s.station_source_last[station]
    if _source_first(s, last, node):
        s.source_next[last] = node
        s.station_source_last[station] = node
        return
    if _source_first(s, node, at):
        s.source_next[node] = at
        s.station_source[station] = node
        return
    while _source_first(s, s.source_next[at], node):
        at = s.source_next[at]
    s.source_next[node] = s.source_next[at]
    s.source_next[at] = node


@jit
def _source_first(s, a, b):
    if s.source_fs[a] != s.source_fs[b]:
        return s.source_fs[a] < s.source_fs[b]
    return comes_first(s, s.source_entry[a], s.source_entry[b])


@jit
def drop_source(s, station):
    """The first source entry of a station is used up."""
    s.station_source[station] = s.source_next[s.station_source[station]]


@jit
def widen(s, port, pool_fs, pool_entry):
    """Give a full port queue a ring of twice the length; answers the pool, enlarged if it had no room."""
    old, size = s.port_ring[port], s.port_mask[port] + 1
    at = s.scalar[POOL_N]
    if at + 2 * size > pool_fs.size:
        room = max(2 * pool_fs.size, at + 2 * size)
        more_fs, more_entry = np.empty(room, np.int64), np.empty(room, np.int64)
        more_fs[:at], more_entry[:at] = pool_fs[:at], pool_entry[:at]
        pool_fs, pool_entry = more_fs, more_entry
    head = s.port_head[port]
    for k in range(size):
        slot = old + ((head + k) & (size - 1))
        pool_fs[at + k], pool_entry[at + k] = pool_fs[slot], pool_entry[slot]
    s.port_ring[port], s.port_mask[port] = at, 2 * size - 1
    s.port_head[port], s.port_tail[port] = 0, size
    s.scalar[POOL_N] = at + 2 * size
    return pool_fs, pool_entry
