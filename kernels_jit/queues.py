"""Flits that wait: source entries (all flits of a flight standing before a station together) and port queues.

A source entry stands for many flits and is advanced in place; a port queue holds single flits, in blocks that are taken
and returned. So memory follows the flits in flight, not those still to come.
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import inner, jit
from kernels_jit.state import (
    BLOCK,
    FLIGHT_ARRIVED,
    FLIGHT_BASE,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_HOPS,
    FLIGHT_LATEST_FS,
    FLIGHT_SOURCES,
    FLIGHT_STRIPE,
    FLIGHT_TAIL_FS,
    FLIGHT_TAIL_STEP,
    FLIT_SHIFT,
    GROUP_FS,
    GROUP_SHIFT,
    HOP_COLUMNS,
    HOP_OWNER,
    NEVER,
    PENDING,
    POOL_FREE,
    POOL_N,
    PORT_ENTRY,
    PORT_FS,
    PORT_HEAD,
    PORT_OWNER,
    PORT_TAIL,
    SOURCE_COLUMNS,
    SOURCE_ENTRY,
    SOURCE_FS,
    SOURCE_NEXT,
    STATION_COLUMNS,
    STATION_RANK,
    STATION_SOURCE,
    STATION_SOURCE_LAST,
    STEP_COLUMNS,
    STEP_STATION,
    STEP_STRIPES,
    STEPS,
    VISIT_COLUMNS,
    VISIT_HEAD_FS,
    VISITS,
    WORD_FS,
)

_NONE = codes.NONE


@inner
def comes_first(m, a, b):
    """Whether of two packed flits that come to a station at one instant the first is served first."""
    if a >> FLIT_SHIFT == b >> FLIT_SHIFT:
        return a > b
    return owner_of(m, a) < owner_of(m, b)


@inner
def owner_of(m, entry):
    """The owner of a packed flit's flight."""
    return m[(entry >> FLIT_SHIFT) * HOP_COLUMNS + HOP_OWNER]


@inner
def note_arrival(m, rank, time):
    """A flit will be at the station of a rank at a time: the station has work."""
    visit = m[VISITS] + rank * VISIT_COLUMNS
    if time < m[visit + VISIT_HEAD_FS]:
        m[visit + VISIT_HEAD_FS] = time
    m[m[PENDING] + (rank >> 6)] |= np.int64(1) << (rank & 63)
    word_fs, group_fs = m[WORD_FS] + (rank >> 6), m[GROUP_FS] + (rank >> 6 + GROUP_SHIFT)
    m[word_fs], m[group_fs] = min(m[word_fs], time), min(m[group_fs], time)


@inner
def inject(m, flight, step, time):
    """All flits of a flight stand before step `step` (of all routes' steps) from `time` on."""
    at = m[STEPS] + step * STEP_COLUMNS
    stripes, stripe, flits = m[at + STEP_STRIPES], m[flight + FLIGHT_STRIPE], m[flight + FLIGHT_FLITS]
    hop = flight + FLIGHT_HOPS + (step - m[flight + FLIGHT_FIRST]) * HOP_COLUMNS
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
        entry = (hop // HOP_COLUMNS << FLIT_SHIFT) | (flits - 1 - j)
        _insert_source(m, station, sources + j * SOURCE_COLUMNS, time, entry)
        note_arrival(m, m[station + STATION_RANK], time)


@inner
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


@inner
def _source_first(m, a, b):
    if m[a + SOURCE_FS] != m[b + SOURCE_FS]:
        return m[a + SOURCE_FS] < m[b + SOURCE_FS]
    return comes_first(m, m[a + SOURCE_ENTRY], m[b + SOURCE_ENTRY])


@inner
def put(m, pool, port, entry, arrival):
    """Put a flit where (arrival, owner, flit) says into a port's queue, which has a slot; answers whether it is first.

    Behind a node with an overhead that is not always the end: the gate holds first flits back, and others of this port
    may have come later and go before.
    """
    first = m[port + PORT_FS]
    if first == NEVER:
        _put_first(m, port, entry, arrival)
        return True
    at = m[port + PORT_TAIL]
    if at & (BLOCK - 1) == 0:
        at = take_block(m, pool, port)
    m[port + PORT_TAIL] = at + 1
    head = m[port + PORT_HEAD]
    while at != head:
        before = slot_before(pool, at)
        if _in_order(m, pool[before, 0], pool[before, 1], arrival, entry):
            break
        pool[at, 0], pool[at, 1] = pool[before, 0], pool[before, 1]
        at = before
    if at != head or _in_order(m, first, m[port + PORT_ENTRY], arrival, entry):
        pool[at, 0], pool[at, 1] = arrival, entry
        return False
    pool[at, 0], pool[at, 1] = first, m[port + PORT_ENTRY]
    _put_first(m, port, entry, arrival)
    return True


@inner
def _in_order(m, time, entry, later_time, later):
    return time < later_time or (time == later_time and comes_first(m, entry, later))


@inner
def _put_first(m, port, entry, arrival):
    m[port + PORT_FS], m[port + PORT_ENTRY], m[port + PORT_OWNER] = arrival, entry, owner_of(m, entry)


@inner
def has_block(m, pool):
    """Whether a queue can be given a block."""
    return m[POOL_FREE] != codes.NONE or m[POOL_N] < pool.shape[0]


@inner
def take_block(m, pool, port):
    """Give a port's queue a block more, at its end; answers its first slot."""
    tail, block = m[port + PORT_TAIL], m[POOL_FREE]
    if block != codes.NONE:
        m[POOL_FREE] = pool[block, 1]
    else:
        block = m[POOL_N]
        m[POOL_N] = block + BLOCK
    if m[port + PORT_HEAD] == tail:
        m[port + PORT_HEAD] = block + 1
    else:
        pool[block, 0] = tail - BLOCK
        pool[tail - BLOCK, 1] = block
    return block + 1


@inner
def leave_block(m, pool, port):
    """Return the block of which a port's queue has just left the last flit, and go on to the next."""
    head = m[port + PORT_HEAD]
    block = (head - 1) & -BLOCK
    if head == m[port + PORT_TAIL]:
        m[port + PORT_HEAD], m[port + PORT_TAIL] = 0, 0
    else:
        m[port + PORT_HEAD] = pool[block, 1] + 1
    pool[block, 1] = m[POOL_FREE]
    m[POOL_FREE] = block


@inner
def slot_before(pool, slot):
    """The slot of the flit before one that is not the first."""
    return slot - 1 if slot & (BLOCK - 1) != 1 else pool[slot - 1, 0] + BLOCK - 1


@jit
def enlarge(pool):
    """A pool with twice the room."""
    more = np.empty((2 * pool.shape[0], 2), np.int64)
    for slot in range(pool.shape[0]):  # a slice would compile numpy's words for shapes that do not match
        more[slot, 0], more[slot, 1] = pool[slot, 0], pool[slot, 1]
    return more
