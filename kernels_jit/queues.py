"""Flits that wait: source entries (all flits of a flight standing before a station together) and port queues.

A source entry stands for many flits and is advanced in place; a port queue holds single flits in a ring that grows when
full. So memory follows the flits in flight, not those still to come.
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.state import (
    FLIGHT_ALIGN,
    FLIGHT_ARRIVED,
    FLIGHT_BASE,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_LATEST_FS,
    FLIGHT_OWNER,
    FLIGHT_SHIFT,
    FLIGHT_SOURCES,
    FLIGHT_STRIPE,
    FLIGHT_TAIL_FS,
    FLIGHT_TAIL_STEP,
    FLIT_SHIFT,
    PENDING,
    POOL_N,
    PORT_COLUMNS,
    PORT_HEAD,
    PORT_MASK,
    PORT_RING,
    PORT_TAIL,
    PORTS,
    SOURCE_COLUMNS,
    SOURCE_ENTRY,
    SOURCE_FS,
    SOURCE_NEXT,
    STATION_COLUMNS,
    STATION_HEAD_FS,
    STATION_RANK,
    STATION_SOURCE,
    STATION_SOURCE_LAST,
    STEP_COLUMNS,
    STEP_STATION,
    STEP_STRIPES,
    STEPS,
    WORD_FS,
)

_NONE = codes.NONE
_SHORT = 1024  # a full queue becomes four times as long up to here (each growth interrupts a sweep), then twice


@jit
def comes_first(m, a, b):
    """Whether of two packed flits that come to a station at one instant the first is served first."""
    if a >> FLIGHT_SHIFT == b >> FLIGHT_SHIFT:
        return a < b
    return m[(a >> FLIGHT_SHIFT) * FLIGHT_ALIGN + FLIGHT_OWNER] < m[(b >> FLIGHT_SHIFT) * FLIGHT_ALIGN + FLIGHT_OWNER]


@jit
def note_arrival(m, station, time):
    """A flit will be at a station at a time: the station has work."""
    if time < m[station + STATION_HEAD_FS]:
        m[station + STATION_HEAD_FS] = time
    rank = m[station + STATION_RANK]
    m[m[PENDING] + (rank >> 6)] |= np.int64(1) << (rank & 63)
    word_fs = m[WORD_FS] + (rank >> 6)
    m[word_fs] = min(m[word_fs], time)


@jit
def inject(m, flight, step, time):
    """All flits of a flight stand before step `step` (of all routes' steps) from `time` on."""
    at = m[STEPS] + step * STEP_COLUMNS
    stripes, stripe, flits = m[at + STEP_STRIPES], m[flight + FLIGHT_STRIPE], m[flight + FLIGHT_FLITS]
    relative = step - m[flight + FLIGHT_FIRST]
    m[flight + FLIGHT_ARRIVED] = 0
    m[flight + FLIGHT_LATEST_FS] = 0
    m[flight + FLIGHT_BASE] = step
    m[flight + FLIGHT_TAIL_STEP] = step
    m[flight + FLIGHT_TAIL_FS] = time
    sources = m[flight + FLIGHT_SOURCES]
    for j in range(min(stripes, flits)):
        station = m[at + STEP_STATION]
        if stripes > 1:
            station += (stripe + j) % stripes * STATION_COLUMNS
        entry = (flight // FLIGHT_ALIGN << FLIGHT_SHIFT) | (j << FLIT_SHIFT) | relative
        _insert_source(m, station, sources + j * SOURCE_COLUMNS, time, entry)
        note_arrival(m, station, time)


@jit
def _insert_source(m, station, source, time, entry):
    """Put a source entry where (time, owner) says; nearly always that is the end."""
    m[source + SOURCE_FS], m[source + SOURCE_ENTRY], m[source + SOURCE_NEXT] = time, entry, _NONE
    at = m[station + STATION_SOURCE]
    if at == _NONE:
        m[station + STATION_SOURCE] = source
        m[station + STATION_SOURCE_LAST] = source
        return
    last = m[station + STATION_SOURCE_LAST]
    if _source_first(m, last, source):
        m[last + SOURCE_NEXT] = source
        m[station + STATION_SOURCE_LAST] = source
        return
    if _source_first(m, source, at):
        m[source + SOURCE_NEXT] = at
        m[station + STATION_SOURCE] = source
        return
    while _source_first(m, m[at + SOURCE_NEXT], source):
        at = m[at + SOURCE_NEXT]
    m[source + SOURCE_NEXT] = m[at + SOURCE_NEXT]
    m[at + SOURCE_NEXT] = source


@jit
def _source_first(m, a, b):
    if m[a + SOURCE_FS] != m[b + SOURCE_FS]:
        return m[a + SOURCE_FS] < m[b + SOURCE_FS]
    return comes_first(m, m[a + SOURCE_ENTRY], m[b + SOURCE_ENTRY])


@jit
def widen(m, number, pool):
    """Give a full port queue a longer ring; answers the pool of queue slots, enlarged if it had no room."""
    port = m[PORTS] + number * PORT_COLUMNS
    old, size = m[port + PORT_RING], m[port + PORT_MASK] + 1
    at, longer = m[POOL_N], size * (4 if size < _SHORT else 2)
    if at + longer > pool.shape[0]:
        more = np.empty((max(2 * pool.shape[0], at + longer), 2), np.int64)
        more[:at] = pool[:at]
        pool = more
    head = m[port + PORT_HEAD]
    for k in range(size):
        slot = old + ((head + k) & (size - 1))
        pool[at + k, 0], pool[at + k, 1] = pool[slot, 0], pool[slot, 1]
    m[port + PORT_RING], m[port + PORT_MASK] = at, longer - 1
    m[port + PORT_HEAD], m[port + PORT_TAIL] = 0, size
    m[POOL_N] = at + longer
    return pool
