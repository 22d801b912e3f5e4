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
from kernels_jit.alone import fly, service_fs
from kernels_jit.flights import land
from kernels_jit.queues import comes_first, drop_source, inject, widen
from kernels_jit.state import (
    CAP_FS,
    EDGES,
    EVENTS,
    FLIGHT_SHIFT,
    FLIT_BYTES,
    FLIT_HOPS,
    FLIT_MASK,
    FLIT_SHIFT,
    MAX_STEPS,
    NEVER,
    STEP_MASK,
)

_NONE = codes.NONE
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
    head, station_at = s.station_head_fs, net.station_at
    best = NEVER
    for word in range(s.pending.size):
        todo = s.pending[word]
        while todo != 0:
            bit = lowest_bit(todo)
            todo &= todo - np.uint64(1)
            best = min(best, head[station_at[word * 64 + bit]])
    return best


@jit
def advance(code, net, s, horizon, pool_fs, pool_entry, stop):
    """Serve every arrival before the horizon, or until `stop` events are done; answers the pool and which it was."""
    window = min(net.window_fs[0], s.scalar[CAP_FS])
    while True:
        begin = earliest(net, s)
        if begin >= horizon:
            return pool_fs, pool_entry, True
        if s.scalar[EVENTS] >= stop:
            return pool_fs, pool_entry, False
        pool_fs, pool_entry = sweep(code, net, s, min(horizon, begin + window), pool_fs, pool_entry)


@jit
def sweep(code, net, s, horizon, pool_fs, pool_entry):
    """Visit the stations once, in order; each serves all that comes before the horizon. Answers the pool."""
    stations, routes = net.stations, net.routes
    fs_per_flit, turn_fs, propagation_fs = stations.fs_per_flit, stations.turn_fs, stations.propagation_fs
    route_start, step_station, step_stripes = routes.start, routes.station, routes.stripes
    step_overhead, step_whole = routes.overhead_fs, routes.whole
    step_port, step_own, step_before = net.step_port, net.step_port_own, net.step_port_before
    port_start, rank_of, station_at = net.port_start, net.rank, net.station_at
    pending, head_fs = s.pending, s.station_head_fs
    port_fs, port_ring, port_mask = s.port_fs, s.port_ring, s.port_mask
    port_head, port_tail = s.port_head, s.port_tail
    source_fs, source_entry, station_source = s.source_fs, s.source_entry, s.station_source
    flight_route, flight_flits, flight_stripe = s.flight_route, s.flight_flits, s.flight_stripe
    flit_bytes, max_steps, edges = s.scalar[FLIT_BYTES], s.scalar[MAX_STEPS], s.scalar[EDGES]
    one = np.uint64(1)
    hops, events = 0, 0

    for word in range(pending.size):
        todo = pending[word]
        while todo != 0:
            bit = lowest_bit(todo)
            above = ~((one << np.uint64(bit)) | ((one << np.uint64(bit)) - one))
            station = station_at[word * 64 + bit]
            if head_fs[station] >= horizon:
                todo = pending[word] & above
                continue
            first_port, end_port = port_start[station], port_start[station + 1]
            full_fs, turn, propagation = fs_per_flit[station], turn_fs[station], propagation_fs[station]
            free, busy, served = s.station_free_fs[station], 0, 0
            flight, step, at, onward, end, flits, whole, overhead = _NONE, 0, 0, 0, 0, 0, 0, 0
            target, target_port = 0, 0
            while True:
                # the earliest flit before this station
                source = station_source[station]
                if source != _NONE:
                    now, entry, port = source_fs[source], source_entry[source], _NONE
                else:
                    now, entry, port = NEVER, 0, _NONE
                for p in range(first_port, end_port):
                    t = port_fs[p]
                    if t < now:
                        now, port = t, p
                        entry = pool_entry[port_ring[p] + (port_head[p] & port_mask[p])]
                    elif t == now and t != NEVER:
                        other = pool_entry[port_ring[p] + (port_head[p] & port_mask[p])]
                        if comes_first(s, other, entry):
                            port, entry = p, other
                if now >= horizon:
                    head_fs[station] = now
                    if now == NEVER:
                        pending[word] &= ~(one << np.uint64(bit))
                    break

                # what it is, and where it goes on
                flit = (entry >> FLIT_SHIFT) & FLIT_MASK
                if entry >> FLIGHT_SHIFT != flight or entry & STEP_MASK != step:
                    flight, step = entry >> FLIGHT_SHIFT, entry & STEP_MASK
                    route = flight_route[flight]
                    at = route_start[route] + step
                    onward, end = at + 1, route_start[route + 1]
                    flits = flight_flits[flight]
                    whole, overhead = 1, 0
                    if onward < end:
                        whole, overhead = step_whole[onward], step_overhead[onward]
                        target, target_port = step_station[onward], step_port[onward]
                if port != _NONE:
                    head = port_head[port] + 1
                    port_head[port] = head
                    port_fs[port] = NEVER
                    if head < port_tail[port]:
                        port_fs[port] = pool_fs[port_ring[port] + (head & port_mask[port])]
                elif flit + step_stripes[at] < flits:
                    source_entry[source] = entry + (step_stripes[at] << FLIT_SHIFT)
                else:
                    drop_source(s, station)

                # service
                service = full_fs
                if flit + 1 == flits:
                    service = service_fs(stations, station, s.flight_last_bytes[flight], flit_bytes)
                if turn > 0:
                    direction = routes.direction[flight_route[flight]]
                    if s.station_direction[station] == 1 - direction:
                        service += turn
                    s.station_direction[station] = direction
                free = max(now, free) + service
                busy += service
                served += 1
                arrival = free + propagation

                # on to the next station
                if whole == 0:
                    if overhead > 0:
                        gate = flight * max_steps + step + 1
                        if s.flight_gate_fs[gate] == _NONE:
                            s.flight_gate_fs[gate] = arrival + overhead
                        arrival = max(arrival, s.flight_gate_fs[gate])
                    next_station, next_port = target, target_port
                    if step_stripes[onward] > 1:
                        stripe = (flight_stripe[flight] + flit) % step_stripes[onward]
                        next_station += stripe
                        next_port += stripe * step_own[onward]
                    elif step_stripes[at] > 1:
                        next_port += (flight_stripe[flight] + flit) % step_stripes[at] * step_before[onward]
                    tail = port_tail[next_port]
                    if tail - port_head[next_port] > port_mask[next_port]:
                        pool_fs, pool_entry = widen(s, next_port, pool_fs, pool_entry)
                        tail = port_tail[next_port]
                    ring, mask = port_ring[next_port], port_mask[next_port]
                    port_tail[next_port] = tail + 1
                    entry += 1
                    if overhead > 0:
                        # a gate holds first flits back: others of this port may have come later and go before
                        while tail > port_head[next_port]:
                            slot = ring + ((tail - 1) & mask)
                            t = pool_fs[slot]
                            if t < arrival or (t == arrival and comes_first(s, pool_entry[slot], entry)):
                                break
                            pool_fs[ring + (tail & mask)], pool_entry[ring + (tail & mask)] = t, pool_entry[slot]
                            tail -= 1
                    pool_fs[ring + (tail & mask)], pool_entry[ring + (tail & mask)] = arrival, entry
                    if tail == port_head[next_port]:
                        port_fs[next_port] = arrival
                        if arrival < head_fs[next_station]:
                            head_fs[next_station] = arrival
                        rank = rank_of[next_station]
                        pending[rank >> 6] |= one << np.uint64(rank & 63)
                    if flit + 1 == flits:
                        s.flight_tail_step[flight], s.flight_tail_fs[flight] = onward, arrival
                    continue

                # or gathered: at the destination, or before a node that forwards whole messages
                s.flight_arrived[flight] += 1
                s.flight_latest_fs[flight] = max(s.flight_latest_fs[flight], arrival)
                if flit + 1 == flits:
                    s.flight_tail_step[flight], s.flight_tail_fs[flight] = onward, arrival
                if s.flight_arrived[flight] == flits:
                    if onward == end:
                        land(code, net, s, flight, s.flight_latest_fs[flight])
                    else:
                        inject(net, s, flight, onward, s.flight_latest_fs[flight] + overhead)
                    flight = _NONE

            s.station_free_fs[station] = free
            s.station_busy_fs[station] += busy
            s.station_flits[station] += served
            events += served
            if station < edges:
                hops += served
            todo = pending[word] & above
    s.scalar[FLIT_HOPS] += hops
    s.scalar[EVENTS] += events
    return pool_fs, pool_entry


@jit
def bound_of(net, s, flight, horizon):
    """A time before which a flight cannot land, all arrivals before the horizon having been served.

    Two things hold it up: what has not been gathered must pass the station before, one flit at a time, and the last flit
    must pass every station from where it stands. The rest of the way is that of a flight alone.
    """
    stations, routes = net.stations, net.routes
    end = routes.start[s.flight_route[flight] + 1]
    flits, last_bytes = s.flight_flits[flight], s.flight_last_bytes[flight]
    flit_bytes = s.scalar[FLIT_BYTES]
    base = s.flight_base[flight]
    gather = base + 1
    while gather < end and routes.whole[gather] == 0:
        gather += 1
    before = routes.station[gather - 1]
    final = service_fs(stations, before, last_bytes, flit_bytes)
    left = flits - s.flight_arrived[flight]
    gathered = s.flight_latest_fs[flight]
    if left > 0:
        rounds = (left + routes.stripes[gather - 1] - 1) // routes.stripes[gather - 1]
        gathered = max(gathered, horizon + (rounds - 1) * stations.fs_per_flit[before] + final)
    tail = max(s.flight_tail_fs[flight], horizon)
    step = s.flight_tail_step[flight]
    if step == base:
        rounds = flits_at_source(net, s, flight, base)
        tail += max(rounds - 1, 0) * stations.fs_per_flit[routes.station[base]]
    if step < gather:
        for k in range(step, gather):
            station = routes.station[k]
            tail += service_fs(stations, station, last_bytes, flit_bytes) + stations.propagation_fs[station]
        gathered = max(gathered, tail)
    if gather == end:
        return gathered
    released = gathered + routes.overhead_fs[gather]
    alone = fly(stations, routes, s, gather, end, flits, last_bytes, flit_bytes, s.flight_stripe[flight], released, 0)
    return max(alone, released)


@jit
def flits_at_source(net, s, flight, base):
    """How many flits of a flight the slowest of its source stations still has to serve, at least."""
    stripes = net.routes.stripes[base]
    if stripes > 1:
        return 0
    station = net.routes.station[base]
    node = s.station_source[station]
    while node != _NONE:
        if s.source_entry[node] >> FLIGHT_SHIFT == flight:
            return s.flight_flits[flight] - ((s.source_entry[node] >> FLIT_SHIFT) & FLIT_MASK)
        node = s.source_next[node]
    return 0
