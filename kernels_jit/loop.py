"""The event loop in `flit` mode: every flit an event on every station.

Map: `run` pops the earliest event and does it. Deliveries, completions and wake-ups go to `servers` and `threads`; a flit
is served right here, because nine events in ten are flits. Nothing is queued per station: flits reach a station in event
order, so its queue is one number, the time at which it is free.

A transfer's flits enter a station one by one, each putting the next down at the same instant, so the heap holds what is in
flight and not what is still to come.
"""

from __future__ import annotations

import numpy as np

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.flights import land
from kernels_jit.heap import drop, push
from kernels_jit.servers import add, finish, free_flight
from kernels_jit.state import (
    EDGES,
    EVENTS,
    FLIT_BYTES,
    FLIT_HOPS,
    HEAP_N,
    MAX_STEPS,
    NOW,
    RESUME,
)
from kernels_jit.threads import run_thread, short

_OWNER = (1 << codes.KIND_SHIFT) - 1


@jit
def run(code, stations, routes, s, most_events):
    """Run until nothing is pending, a thread asks, a pool must grow, or `most_events` are done (status IDLE + pending).

    Arguments: `tables.Code`, `tables.Stations`, `tables.Routes`, `state.State`, int. Answers a status of `codes`.
    """
    scalar = s.scalar
    heap_fs, heap_key, heap_index, heap_data = s.heap_fs, s.heap_key, s.heap_index, s.heap_data
    fs_per_flit, quantum_bytes = stations.fs_per_flit, stations.quantum_bytes
    turn_fs, propagation_fs = stations.turn_fs, stations.propagation_fs
    route_start, step_station, step_stripes = routes.start, routes.station, routes.stripes
    step_overhead_fs, step_whole, route_direction = routes.overhead_fs, routes.whole, routes.direction
    flight_job, flight_flits, flight_last = s.flight_job, s.flight_flits, s.flight_last_bytes
    flight_arrived, flight_latest, flight_gate = s.flight_arrived, s.flight_latest_fs, s.flight_gate_fs
    free_fs, busy_fs, flits_served, direction = (
        s.station_free_fs,
        s.station_busy_fs,
        s.station_flits,
        s.station_direction,
    )
    job_row, op = s.job_row, code.op
    flit_bytes, max_steps, edges = scalar[FLIT_BYTES], scalar[MAX_STEPS], scalar[EDGES]
    stop = scalar[EVENTS] + most_events

    if scalar[RESUME] != codes.NONE:
        thread = scalar[RESUME]
        scalar[RESUME] = codes.NONE
        status = run_thread(code, routes, s, thread, scalar[NOW])
        if status != codes.IDLE:
            return status

    while scalar[HEAP_N] > 0 and scalar[EVENTS] < stop:
        status = short(s)
        if status != codes.IDLE:
            return status
        now, key, index, data = heap_fs[0], heap_key[0], heap_index[0], heap_data[0]
        n = scalar[HEAP_N]
        drop(heap_fs, heap_key, heap_index, heap_data, n)
        n -= 1
        scalar[HEAP_N] = n
        scalar[NOW] = now
        scalar[EVENTS] += 1
        kind = key >> codes.KIND_SHIFT

        if kind == codes.FLIT:
            flight, step, flit = data >> 16, data & 0xFFFF, index
            route = op[job_row[flight_job[flight]], 1]
            at = route_start[route] + step
            flits = flight_flits[flight]
            if flit + 1 < flits and (step == 0 or step_whole[at] == 1):
                push(heap_fs, heap_key, heap_index, heap_data, n, now, key, flit + 1, data)
                n += 1
            station = step_station[at]
            if step_stripes[at] > 1:
                station += (op[job_row[flight_job[flight]], 3] + flit) % step_stripes[at]
            service = fs_per_flit[station]
            if flit + 1 == flits:
                last = flight_last[flight]
                if last < flit_bytes:
                    service = partial_fs(last, quantum_bytes[station], service, flit_bytes)
            if turn_fs[station] > 0:
                if direction[station] == 1 - route_direction[route]:
                    service += turn_fs[station]
                direction[station] = route_direction[route]
            depart = max(now, free_fs[station]) + service
            free_fs[station] = depart
            busy_fs[station] += service
            flits_served[station] += 1
            if station < edges:
                scalar[FLIT_HOPS] += 1
            raw = depart + propagation_fs[station]
            onward = at + 1
            if onward < route_start[route + 1] and step_whole[onward] == 0:
                arrival = raw
                if step_overhead_fs[onward] > 0:
                    gate = flight * max_steps + step + 1
                    if flight_gate[gate] == codes.NONE:
                        flight_gate[gate] = raw + step_overhead_fs[onward]
                    arrival = max(raw, flight_gate[gate])
                push(heap_fs, heap_key, heap_index, heap_data, n, arrival, key, flit, data + 1)
                scalar[HEAP_N] = n + 1
                continue
            scalar[HEAP_N] = n
            flight_arrived[flight] += 1
            flight_latest[flight] = max(flight_latest[flight], raw)
            if flight_arrived[flight] < flits:
                continue
            if onward == route_start[route + 1]:
                land(code, routes, s, flight, flight_latest[flight])
                continue
            flight_arrived[flight] = 0
            released = flight_latest[flight] + step_overhead_fs[onward]
            push(heap_fs, heap_key, heap_index, heap_data, n, released, key, 0, data + 1)
            scalar[HEAP_N] = n + 1
        elif kind == codes.WAKE:
            status = run_thread(code, routes, s, data, now)
            if status != codes.IDLE:
                return status
        elif kind == codes.SERVED:
            finish(code, routes, s, data, now)
        elif kind == codes.DONE:
            finish(code, routes, s, free_flight(s, data), now)
        else:
            add(op, s, data, 1, now)
    return codes.IDLE


@jit
def partial_fs(nbytes, quantum, full_fs, flit_bytes):
    """Service of a partial flit: its bytes, rounded up to the station's quantum, at the station's rate; rounded up."""
    padded = (nbytes + quantum - 1) // quantum * quantum
    return np.int64((padded * full_fs + flit_bytes - 1) // flit_bytes)
