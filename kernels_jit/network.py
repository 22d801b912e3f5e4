"""The network: stations served in an order in which whatever feeds a station comes before it.

No event queue. A sweep visits every station that has flits, once, in channel order (by rank), and begins every service
that is due before a horizon: when its turn comes, everything upstream has been served, so its queues hold all there is,
and it only merges them by (arrival, owner, flit). What has come before the horizon may be served well beyond it
(`SLACK_FS`): then a transfer that stands in a long queue is known to land long before it does, and sweeps are few; but not
without end, or a long message would fill the queues instead of waiting at its source. And what comes after the horizon may
be served where no route begins, as far as all that will come is known (`VISIT_AHEAD_FS`).

How far a sweep may go: nothing may be injected before the horizon. Injections follow from landings, and no flight lands
before its bound; the smallest bound is the horizon. A flight that has not landed by its bound gets a new one from what is
left of it. If some edge goes against the order (the graph of channels has cycles), a sweep also ends before the soonest
flit could have used such an edge (`WINDOW_FS`).
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.alone import landing_bound, service_fs
from kernels_jit.bits import lowest_bit
from kernels_jit.flights import land
from kernels_jit.prefetch import prefetch
from kernels_jit.queues import inject, note_arrival, put
from kernels_jit.state import (
    AHEAD_FS,
    AT_BIT,
    AT_WORD,
    EVENTS,
    FLIGHT_ARRIVED,
    FLIGHT_BASE,
    FLIGHT_END,
    FLIGHT_FLITS,
    FLIGHT_LAST_BYTES,
    FLIGHT_LATEST_FS,
    FLIGHT_SOURCES,
    FLIGHT_STRIPE,
    FLIGHT_TAIL_FS,
    FLIGHT_TAIL_STEP,
    FLIT_MASK,
    FLIT_SHIFT,
    GROUP_FS,
    GROUP_SHIFT,
    HOP_COLUMNS,
    LANDED,
    LANDED_N,
    NEVER,
    PENDING,
    PORT_ENTRY,
    PORT_HEAD,
    PORT_RANK,
    SOURCE_ENTRY,
    STATION_FULL_FS,
    STATION_PORT,
    STATION_PROPAGATION_FS,
    STATION_SOURCE,
    STEP_COLUMNS,
    STEP_OVERHEAD_FS,
    STEP_STATION,
    STEP_STRIPES,
    STEP_WHOLE,
    STEPS,
    STOP_ENTRY,
    STOP_FLIGHT,
    STOP_FS,
    STOP_PORT,
    STOP_STEP,
    SWEEP_FS,
    VISIT_AHEAD_FS,
    VISIT_COLUMNS,
    VISIT_HEAD_FS,
    VISIT_STATION,
    VISITS,
    WINDOW_FS,
    WORD_FS,
    WORDS,
)
from kernels_jit.station import FULL, SERVED_ALL, serve_station

_NONE = codes.NONE
STOPPED = 3  # why `advance` came back, if it is none of the reasons of `serve_station`


@inner
def earliest(m, before):
    """When the next service is due, if that is before a time; else any time that is not before it."""
    best, words, word_fs, group_fs = NEVER, m[WORDS], m[WORD_FS], m[GROUP_FS]
    for group in range((words - 1 >> GROUP_SHIFT) + 1):
        if m[group_fs + group] < min(best, before):
            low = NEVER
            for word in range(group << GROUP_SHIFT, min(words, group + 1 << GROUP_SHIFT)):
                if m[word_fs + word] < min(best, before):
                    m[word_fs + word] = word_earliest(m, word)
                    best = min(best, m[word_fs + word])
                low = min(low, m[word_fs + word])
            m[group_fs + group] = low
    return best


@inner
def word_earliest(m, word):
    """When the next service is due at the stations of a word of `PENDING`, or NEVER."""
    best, heads = NEVER, m[VISITS] + word * 64 * VISIT_COLUMNS + VISIT_HEAD_FS
    todo = m[m[PENDING] + word]
    while todo != 0:
        best = min(best, m[heads + lowest_bit(todo) * VISIT_COLUMNS])
        todo &= todo - 1
    return best


@inner
def advance(m, op, times, horizon, pool, stop):
    """Begin every service due before the horizon, or until `stop` events are done, or the pool is full.

    Answers SERVED_ALL, STOPPED or FULL. Called again after FULL, when there is room, it goes on where it was.
    """
    while True:
        if m[SWEEP_FS] == _NONE:
            begin = earliest(m, horizon)
            if begin >= horizon:
                return SERVED_ALL
            if m[EVENTS] >= stop:
                return STOPPED
            m[SWEEP_FS] = min(horizon, begin + m[WINDOW_FS])
            m[AT_WORD], m[AT_BIT], m[LANDED_N] = 0, 0, 0
        if not sweep(m, op, times, m[SWEEP_FS], pool):
            return FULL
        m[SWEEP_FS] = _NONE


@inner
def sweep(m, op, times, horizon, pool):
    """Visit the stations once, in order; each begins all services due before the horizon. Answers whether that is done."""
    while True:
        why = serve(m, pool, horizon)
        if why == FULL:
            return False
        if why == SERVED_ALL:
            break
        flight, step = m[STOP_FLIGHT], m[STOP_STEP]
        inject(m, flight, step, m[flight + FLIGHT_LATEST_FS] + m[m[STEPS] + step * STEP_COLUMNS + STEP_OVERHEAD_FS])
    for k in range(m[LANDED_N]):
        flight = m[m[LANDED] + k]
        land(m, op, times, flight, m[flight + FLIGHT_LATEST_FS])
    return True


@inner
def put_stopped(m, pool):
    """Put the flit that found the pool full where it was to go."""
    port = m[STOP_PORT]
    if put(m, pool, port, m[STOP_ENTRY], m[STOP_FS]):
        note_arrival(m, m[port + PORT_RANK], m[STOP_FS])


@inner
def serve(m, pool, horizon):
    """Visit the stations in order, from where the last visit was interrupted; answers as `serve_station` does."""
    pending, visits, word_fs, group_fs = m[PENDING], m[VISITS], m[WORD_FS], m[GROUP_FS]
    latest = horizon + m[AHEAD_FS]
    skip, word, words = m[AT_BIT], m[AT_WORD] - 1, m[WORDS]
    while word + 1 < words:
        word += 1
        if m[group_fs + (word >> GROUP_SHIFT)] >= latest:
            word |= (1 << GROUP_SHIFT) - 1
            skip = 0
            continue
        if m[word_fs + word] >= latest:
            skip = 0
            continue
        todo = m[pending + word] & np.int64(-1) << skip
        skip = 0
        while todo != 0:
            bit = lowest_bit(todo)
            visit = visits + (word * 64 + bit) * VISIT_COLUMNS
            if m[visit + VISIT_HEAD_FS] >= horizon + m[visit + VISIT_AHEAD_FS]:
                todo &= todo - 1
                continue
            hint_at(m, pool, visits + word * 64 * VISIT_COLUMNS, todo & todo - 1)
            why = serve_station(m, pool, visits, visit, horizon)
            if why != SERVED_ALL:
                m[AT_WORD], m[AT_BIT] = word, bit
                return why
            if m[visit + VISIT_HEAD_FS] == NEVER:
                m[pending + word] &= ~(np.int64(1) << bit)
            todo = m[pending + word] & np.int64(-2) << bit
    return SERVED_ALL


@inner
def hint_at(m, pool, visits, todo):
    """Hint at what the next visits will read: of the next the flits, of the one after that the queues, then the station.

    Arguments: where the visits of a word stand, and a bit for each that is to come. What leads to a row has been hinted at one
    visit earlier, so that nothing here waits for memory.
    """
    if todo == 0:
        return
    station = m[visits + lowest_bit(todo) * VISIT_COLUMNS + VISIT_STATION]
    source = m[station + STATION_SOURCE]
    if source != _NONE:
        prefetch(m, (m[source + SOURCE_ENTRY] >> FLIT_SHIFT) * HOP_COLUMNS)
    else:
        port = m[station + STATION_PORT]
        prefetch(m, (m[port + PORT_ENTRY] >> FLIT_SHIFT) * HOP_COLUMNS)
        prefetch(pool, m[port + PORT_HEAD])
    todo &= todo - 1
    if todo == 0:
        return
    station = m[visits + lowest_bit(todo) * VISIT_COLUMNS + VISIT_STATION]
    if m[station + STATION_SOURCE] != _NONE:
        prefetch(m, m[station + STATION_SOURCE])
    prefetch(m, m[station + STATION_PORT])
    todo &= todo - 1
    if todo != 0:
        prefetch(m, m[visits + lowest_bit(todo) * VISIT_COLUMNS + VISIT_STATION])


@inner
def bound_of(m, flight, horizon):
    """A time before which a flight cannot land, all services due before the horizon having begun.

    Two things hold it up: what has not been gathered must pass the station before, one flit at a time, and the last flit
    must pass every station from where it stands. The rest of the way is that of a flight alone.
    """
    base, end = m[flight + FLIGHT_BASE], m[flight + FLIGHT_END]
    flits, last_bytes = m[flight + FLIGHT_FLITS], m[flight + FLIGHT_LAST_BYTES]
    gather = base + 1
    while gather < end and m[m[STEPS] + gather * STEP_COLUMNS + STEP_WHOLE] == 0:
        gather += 1
    before = m[STEPS] + (gather - 1) * STEP_COLUMNS
    station, stripes = m[before + STEP_STATION], m[before + STEP_STRIPES]
    left = flits - m[flight + FLIGHT_ARRIVED]
    gathered = m[flight + FLIGHT_LATEST_FS]
    if left > 0:
        rounds = (left + stripes - 1) // stripes
        final = service_fs(m, station, last_bytes)
        gathered = max(gathered, horizon + (rounds - 1) * m[station + STATION_FULL_FS] + final)
    step = m[flight + FLIGHT_TAIL_STEP]
    if step < gather:
        tail = max(m[flight + FLIGHT_TAIL_FS], horizon)
        if step == base:
            tail += (left_at_source(m, flight, base) - 1) * m[station_of(m, base) + STATION_FULL_FS]
        for k in range(step, gather):
            tail += service_fs(m, station_of(m, k), last_bytes) + m[station_of(m, k) + STATION_PROPAGATION_FS]
        gathered = max(gathered, tail)
    if gather == end:
        return gathered
    released = gathered + m[m[STEPS] + gather * STEP_COLUMNS + STEP_OVERHEAD_FS]
    return max(landing_bound(m, gather, end, flits, last_bytes, m[flight + FLIGHT_STRIPE], released), released)


@inner
def station_of(m, step):
    """The station of a step, of a striped one the first."""
    return m[m[STEPS] + step * STEP_COLUMNS + STEP_STATION]


@inner
def left_at_source(m, flight, base):
    """How many flits of a flight its source station still has to serve, at least: 1 where they are striped."""
    if m[m[STEPS] + base * STEP_COLUMNS + STEP_STRIPES] > 1:
        return 1
    return 1 + (m[m[flight + FLIGHT_SOURCES] + SOURCE_ENTRY] & FLIT_MASK)
