"""The network: stations served in an order in which whatever feeds a station comes before it.

No event queue. `sweep` visits every station that has flits, once, in channel order (`Network.rank`), and serves all that
comes before a horizon: when its turn comes, everything upstream has been served, so its queues hold all there is, and it
only merges them by (arrival, owner, flit). How far a sweep may go: nothing may be injected before the horizon. Injections
follow from landings, and no flight lands before its bound; the smallest bound is the horizon. A flight that has not landed
by its bound gets a new one from what is left of it. If some edge goes against the order (the graph of channels has cycles),
a sweep also ends before the soonest flit could have used such an edge (`Network.window_fs`).
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.alone import fly, part_fs, service_fs
from kernels_jit.flights import land
from kernels_jit.queues import comes_first, inject, note_arrival, widen
from kernels_jit.state import (
    CAP_FS,
    EVENTS,
    FLIGHT_ARRIVED,
    FLIGHT_BASE,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_LAST_BYTES,
    FLIGHT_LATEST_FS,
    FLIGHT_OWNER,
    FLIGHT_ROUTE,
    FLIGHT_SHIFT,
    FLIGHT_STRIPE,
    FLIGHT_TAIL_FS,
    FLIGHT_TAIL_STEP,
    FLIT_BYTES,
    FLIT_MASK,
    FLIT_SHIFT,
    NEVER,
    PORT_HEAD,
    PORT_MASK,
    PORT_RING,
    PORT_TAIL,
    SOURCE_ENTRY,
    SOURCE_FS,
    SOURCE_NEXT,
    STATION_BUSY_FS,
    STATION_DIRECTION,
    STATION_FLITS,
    STATION_FREE_FS,
    STATION_HEAD_FS,
    STATION_SOURCE,
    STEP_MASK,
)
from kernels_jit.tables import (
    FULL_FS,
    PROPAGATION_FS,
    QUANTUM_BYTES,
    ROUTE_DIRECTION,
    ROUTE_END,
    STEP_OVERHEAD_FS,
    STEP_PORT,
    STEP_PORT_BEFORE,
    STEP_PORT_OWN,
    STEP_STATION,
    STEP_STRIPES,
    STEP_WHOLE,
    TURN_FS,
)

_NONE = codes.NONE
SERVED_ALL, GATHERED, FULL = 0, 1, 2  # why `serve` stopped
AT_WORD, AT_BIT, SERVED_N, LANDED_N = 4, 5, 6, 7  # of `State.interrupt`: where it stopped, and counts of this sweep
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_BIT = np.zeros(64, np.int64)
for _i in range(64):
    _BIT[((1 << _i) * int(_DE_BRUIJN) & (1 << 64) - 1) >> 58] = _i


@jit
def lowest_bit(word):
    """The number of the lowest bit set in a uint64 that is not zero."""
    alone = word & (~word + np.uint64(1))
    return _BIT[(alone * _DE_BRUIJN) >> np.uint64(58)]


@jit
def earliest(net, s):
    """The earliest arrival that has not been served, or NEVER."""
    station, station_at = s.station, net.station_at
    best = NEVER
    for word in range(s.pending.size):
        todo = s.pending[word]
        while todo != 0:
            bit = lowest_bit(todo)
            todo &= todo - np.uint64(1)
            best = min(best, station[station_at[word * 64 + bit], STATION_HEAD_FS])
    return best


@jit
def advance(code, net, s, horizon, pool, stop):
    """Serve every arrival before the horizon, or until `stop` events are done; answers the pool and which it was."""
    window = min(net.window_fs[0], s.scalar[CAP_FS])
    while True:
        begin = earliest(net, s)
        if begin >= horizon:
            return pool, True
        if s.scalar[EVENTS] >= stop:
            return pool, False
        pool = sweep(code, net, s, min(horizon, begin + window), pool)


@jit
def sweep(code, net, s, horizon, pool):
    """Visit the stations once, in order; each serves all that comes before the horizon. Answers the pool."""
    interrupt = s.interrupt
    interrupt[:] = 0
    while True:
        why = serve(
            *(horizon, s.scalar[FLIT_BYTES], net.service, net.step, net.route, net.port_start, net.rank),
            *(net.station_at, s.flight, s.gate, s.source, s.station, s.pending, s.port_fs, s.port, pool),
            *(s.landed, interrupt),
        )
        if why == SERVED_ALL:
            break
        if why == GATHERED:
            flight, onward = interrupt[0], interrupt[1]
            release = s.flight[flight, FLIGHT_LATEST_FS] + net.step[onward, STEP_OVERHEAD_FS]
            inject(net, s, flight, onward, release)
        else:
            pool = widen(s, interrupt[0], pool)
            put(s.flight, s.port_fs, s.port, pool, interrupt)
            note_arrival(net, s, interrupt[3], interrupt[2])
    for k in range(interrupt[LANDED_N]):
        flight = s.landed[k]
        land(code, net, s, flight, s.flight[flight, FLIGHT_LATEST_FS])
    s.scalar[EVENTS] += interrupt[SERVED_N]
    return pool


@jit
def serve(
    horizon,
    flit_bytes,
    service_table,
    step_table,
    route_table,
    port_start,
    rank_of,
    station_at,
    flight_table,
    gate_table,
    source_table,
    station_table,
    pending,
    port_fs,
    port_table,
    pool,
    landed,
    interrupt,
):
    """Visit the stations in order, from where the last visit was interrupted; answers why this one stopped.

    SERVED_ALL; GATHERED: `interrupt` holds a flight all of whose flits have come together, and the step they stand before;
    FULL: it holds a port that needs a longer ring, and the packed flit, arrival and station of what goes there. Flights
    that have come to their end are put into `landed`.

    The arrays come one by one and no array is bound anew: a call with the whole state, or a pool replaced in the loop,
    costs reference counts at every flit and made this five times slower.
    """
    one = np.uint64(1)
    skip = np.uint64(interrupt[AT_BIT])
    for word in range(interrupt[AT_WORD], pending.size):
        todo = pending[word] & ~((one << skip) - one)
        skip = np.uint64(0)
        while todo != 0:
            bit = np.uint64(lowest_bit(todo))
            station = station_at[word * 64 + np.int64(bit)]
            if station_table[station, STATION_HEAD_FS] >= horizon:
                todo &= todo - one
                continue
            first_port, end_port = port_start[station], port_start[station + 1]
            full_fs, propagation = service_table[station, FULL_FS], service_table[station, PROPAGATION_FS]
            turn, quantum = service_table[station, TURN_FS], service_table[station, QUANTUM_BYTES]
            free, busy, served = station_table[station, STATION_FREE_FS], 0, 0
            source = station_table[station, STATION_SOURCE]
            source_fs = source_table[source, SOURCE_FS] if source != _NONE else NEVER
            why = SERVED_ALL
            while True:
                # the earliest flit before this station
                now, port = source_fs, _NONE
                for p in range(first_port, end_port):
                    t = port_fs[p]
                    if t < now:
                        now, port = t, p
                    elif t == now and t != NEVER:
                        mine = pool[port_table[p, PORT_RING] + (port_table[p, PORT_HEAD] & port_table[p, PORT_MASK]), 1]
                        if port == _NONE:
                            other = source_table[source, SOURCE_ENTRY]
                        else:
                            slot = port_table[port, PORT_RING] + (
                                port_table[port, PORT_HEAD] & port_table[port, PORT_MASK]
                            )
                            other = pool[slot, 1]
                        mine_owner = flight_table[mine >> FLIGHT_SHIFT, FLIGHT_OWNER]
                        other_owner = flight_table[other >> FLIGHT_SHIFT, FLIGHT_OWNER]
                        if mine_owner < other_owner or (mine_owner == other_owner and mine < other):
                            port = p
                if now >= horizon:
                    station_table[station, STATION_HEAD_FS] = now
                    break
                if port != _NONE:
                    head = port_table[port, PORT_HEAD]
                    ring, mask = port_table[port, PORT_RING], port_table[port, PORT_MASK]
                    entry = pool[ring + (head & mask), 1]
                    head += 1
                    port_table[port, PORT_HEAD] = head
                    port_fs[port] = pool[ring + (head & mask), 0] if head < port_table[port, PORT_TAIL] else NEVER
                else:
                    entry = source_table[source, SOURCE_ENTRY]

                # what it is, and its service
                flight, step = entry >> FLIGHT_SHIFT, entry & STEP_MASK
                flit = (entry >> FLIT_SHIFT) & FLIT_MASK
                at = flight_table[flight, FLIGHT_FIRST] + step
                flits = flight_table[flight, FLIGHT_FLITS]
                if port == _NONE:
                    stripes = step_table[at, STEP_STRIPES]
                    if flit + stripes < flits:
                        source_table[source, SOURCE_ENTRY] = entry + (stripes << FLIT_SHIFT)
                    else:
                        source = source_table[source, SOURCE_NEXT]
                        station_table[station, STATION_SOURCE] = source
                        source_fs = source_table[source, SOURCE_FS] if source != _NONE else NEVER
                service = full_fs
                if flit + 1 == flits:
                    service = part_fs(flight_table[flight, FLIGHT_LAST_BYTES], quantum, full_fs, flit_bytes)
                if turn > 0:
                    direction = route_table[flight_table[flight, FLIGHT_ROUTE], ROUTE_DIRECTION]
                    if station_table[station, STATION_DIRECTION] == 1 - direction:
                        service += turn
                    station_table[station, STATION_DIRECTION] = direction
                free = max(now, free) + service
                busy += service
                served += 1
                arrival = free + propagation
                onward = at + 1
                target_port = step_table[onward, STEP_PORT]
                if target_port == _NONE:
                    # at the destination, or before a node that forwards whole messages
                    flight_table[flight, FLIGHT_LATEST_FS] = max(flight_table[flight, FLIGHT_LATEST_FS], arrival)
                    if flit + 1 == flits:
                        flight_table[flight, FLIGHT_TAIL_STEP], flight_table[flight, FLIGHT_TAIL_FS] = onward, arrival
                    arrived = flight_table[flight, FLIGHT_ARRIVED] + 1
                    flight_table[flight, FLIGHT_ARRIVED] = arrived
                    if arrived < flits:
                        continue
                    if onward == route_table[flight_table[flight, FLIGHT_ROUTE], ROUTE_END]:
                        interrupt[LANDED_N] += 1
                        landed[interrupt[LANDED_N] - 1] = flight
                        continue
                    interrupt[0], interrupt[1] = flight, onward
                    why = GATHERED
                    break

                # on to the next station
                target = step_table[onward, STEP_STATION]
                overhead = step_table[onward, STEP_OVERHEAD_FS]
                if overhead > 0:
                    if gate_table[flight, step + 1] == _NONE:
                        gate_table[flight, step + 1] = arrival + overhead
                    arrival = max(arrival, gate_table[flight, step + 1])
                if step_table[onward, STEP_PORT_OWN] > 0:
                    stripe = (flight_table[flight, FLIGHT_STRIPE] + flit) % step_table[onward, STEP_STRIPES]
                    target += stripe
                    target_port += stripe * step_table[onward, STEP_PORT_OWN]
                elif step_table[onward, STEP_PORT_BEFORE] > 0:
                    target_port += (flight_table[flight, FLIGHT_STRIPE] + flit) % step_table[at, STEP_STRIPES]
                if flit + 1 == flits:
                    flight_table[flight, FLIGHT_TAIL_STEP], flight_table[flight, FLIGHT_TAIL_FS] = onward, arrival
                entry += 1
                tail, head = port_table[target_port, PORT_TAIL], port_table[target_port, PORT_HEAD]
                mask = port_table[target_port, PORT_MASK]
                if overhead > 0 or tail - head > mask:
                    interrupt[0], interrupt[1], interrupt[2], interrupt[3] = target_port, entry, arrival, target
                    if tail - head > mask:
                        why = FULL
                        break
                    put(flight_table, port_fs, port_table, pool, interrupt)
                else:
                    slot = port_table[target_port, PORT_RING] + (tail & mask)
                    pool[slot, 0], pool[slot, 1] = arrival, entry
                    port_table[target_port, PORT_TAIL] = tail + 1
                    if tail == head:
                        port_fs[target_port] = arrival
                if tail == head or arrival < station_table[target, STATION_HEAD_FS]:
                    station_table[target, STATION_HEAD_FS] = min(station_table[target, STATION_HEAD_FS], arrival)
                    rank = rank_of[target]
                    pending[rank >> 6] |= one << np.uint64(rank & 63)

            station_table[station, STATION_FREE_FS] = free
            station_table[station, STATION_BUSY_FS] += busy
            station_table[station, STATION_FLITS] += served
            interrupt[SERVED_N] += served
            if why != SERVED_ALL:
                interrupt[AT_WORD], interrupt[AT_BIT] = word, np.int64(bit)
                return why
            if station_table[station, STATION_HEAD_FS] == NEVER:
                pending[word] &= ~(one << bit)
            todo = pending[word] & ~((one << bit) | ((one << bit) - one))
    return SERVED_ALL


@jit
def put(flight_table, port_fs, port_table, pool, what):
    """Put a flit where (arrival, owner, flit) says into a port queue with room: (port, packed flit, arrival) in `what`.

    Behind a node with an overhead that is not always the end: the gate holds first flits back, and others of this port
    may have come later and go before.
    """
    port, entry, arrival = what[0], what[1], what[2]
    ring, mask = port_table[port, PORT_RING], port_table[port, PORT_MASK]
    head, tail = port_table[port, PORT_HEAD], port_table[port, PORT_TAIL]
    port_table[port, PORT_TAIL] = tail + 1
    while tail > head:
        slot = ring + ((tail - 1) & mask)
        t = pool[slot, 0]
        if t < arrival or (t == arrival and comes_first(flight_table, pool[slot, 1], entry)):
            break
        pool[ring + (tail & mask), 0], pool[ring + (tail & mask), 1] = t, pool[slot, 1]
        tail -= 1
    pool[ring + (tail & mask), 0], pool[ring + (tail & mask), 1] = arrival, entry
    if tail == head:
        port_fs[port] = arrival


@jit
def bound_of(net, s, flight, horizon):
    """A time before which a flight cannot land, all arrivals before the horizon having been served.

    Two things hold it up: what has not been gathered must pass the station before, one flit at a time, and the last flit
    must pass every station from where it stands. The rest of the way is that of a flight alone.
    """
    end = net.route[s.flight[flight, FLIGHT_ROUTE], ROUTE_END]
    flits, last_bytes = s.flight[flight, FLIGHT_FLITS], s.flight[flight, FLIGHT_LAST_BYTES]
    flit_bytes = s.scalar[FLIT_BYTES]
    base = s.flight[flight, FLIGHT_BASE]
    gather = base + 1
    while gather < end and net.step[gather, STEP_WHOLE] == 0:
        gather += 1
    before = net.step[gather - 1, STEP_STATION]
    final = service_fs(net.service, before, last_bytes, flit_bytes)
    left = flits - s.flight[flight, FLIGHT_ARRIVED]
    gathered = s.flight[flight, FLIGHT_LATEST_FS]
    if left > 0:
        rounds = (left + net.step[gather - 1, STEP_STRIPES] - 1) // net.step[gather - 1, STEP_STRIPES]
        gathered = max(gathered, horizon + (rounds - 1) * net.service[before, FULL_FS] + final)
    tail = max(s.flight[flight, FLIGHT_TAIL_FS], horizon)
    step = s.flight[flight, FLIGHT_TAIL_STEP]
    if step == base:
        rounds = flits_at_source(net, s, flight, base)
        tail += max(rounds - 1, 0) * net.service[net.step[base, STEP_STATION], FULL_FS]
    if step < gather:
        for k in range(step, gather):
            station = net.step[k, STEP_STATION]
            tail += service_fs(net.service, station, last_bytes, flit_bytes) + net.service[station, PROPAGATION_FS]
        gathered = max(gathered, tail)
    if gather == end:
        return gathered
    released = gathered + net.step[gather, STEP_OVERHEAD_FS]
    alone = fly(net, s, gather, end, flits, last_bytes, flit_bytes, s.flight[flight, FLIGHT_STRIPE], released, 0)
    return max(alone, released)


@jit
def flits_at_source(net, s, flight, base):
    """How many flits of a flight the slowest of its source stations still has to serve, at least."""
    stripes = net.step[base, STEP_STRIPES]
    if stripes > 1:
        return 0
    station = net.step[base, STEP_STATION]
    node = s.station[station, STATION_SOURCE]
    while node != _NONE:
        if s.source[node, SOURCE_ENTRY] >> FLIGHT_SHIFT == flight:
            return s.flight[flight, FLIGHT_FLITS] - ((s.source[node, SOURCE_ENTRY] >> FLIT_SHIFT) & FLIT_MASK)
        node = s.source[node, SOURCE_NEXT]
    return 0
