"""Transfers in flight: taking off, meeting others, landing. What happens between, flit by flit, is `network`'s."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.alone import fly
from kernels_jit.heap import push_bound, schedule
from kernels_jit.jobs import free_job
from kernels_jit.queues import inject
from kernels_jit.state import EVENTS, FLIGHT_FREE_N, FLIT_BYTES, HYBRID, LATEST, MAX_STEPS

_NONE = codes.NONE


@jit
def take_off(code, net, s, job, now):
    """Begin the transfer of a job's MOVE row: its flits enter the network, or a bare header is on its way."""
    op, routes, stations = code.op, net.routes, net.stations
    row = s.job_row[job]
    route, nbytes = op[row, 1], op[row, 2]
    n = s.scalar[FLIGHT_FREE_N] - 1
    s.scalar[FLIGHT_FREE_N] = n
    flight = s.flight_free[n]
    s.flight_job[flight] = job
    s.flight_owner[flight] = s.job_owner[job]
    s.flight_route[flight] = route
    s.flight_stripe[flight] = op[row, 3]
    s.flight_stamp[flight] += 1
    s.flight_alone[flight] = 0
    s.flight_flits[flight] = 0
    start = now + code.duration_fs[op[row, 7]] + routes.lead_fs[route]
    if nbytes == 0:
        land(code, net, s, flight, start + routes.propagation_fs[route])
        return
    flit_bytes = s.scalar[FLIT_BYTES]
    flits = (nbytes + flit_bytes - 1) // flit_bytes
    last_bytes = nbytes - (flits - 1) * flit_bytes
    first, end = routes.start[route], routes.start[route + 1]
    start += routes.overhead_fs[first]
    s.flight_flits[flight] = flits
    s.flight_last_bytes[flight] = last_bytes
    s.flight_start_fs[flight] = start
    bound = fly(stations, routes, s, first, end, flits, last_bytes, flit_bytes, op[row, 3], start, 0)
    if s.scalar[HYBRID] == 1 and claim(code, net, s, flight, start) and bound != _NONE:
        fly(stations, routes, s, first, end, flits, last_bytes, flit_bytes, op[row, 3], start, 1)
        s.flight_alone[flight] = 1
        mark_alone(routes, s, route, flight)
        land(code, net, s, flight, bound)
    else:
        enter(code, net, s, flight, max(bound, start + 1))


@jit
def enter(code, net, s, flight, bound):
    """All of a flight's flits stand before its first station since its start; it cannot land before `bound`."""
    first = net.routes.start[s.flight_route[flight]]
    steps = net.routes.start[s.flight_route[flight] + 1] - first
    gate = flight * s.scalar[MAX_STEPS]
    for step in range(steps):
        s.flight_gate_fs[gate + step] = _NONE
    inject(net, s, flight, first, s.flight_start_fs[flight])
    if awaited(code, s, s.flight_job[flight]):
        push_bound(s, bound, flight)


@jit
def awaited(code, s, job):
    """Whether anything can follow from the completion of a job's transfer."""
    op, row = code.op, s.job_row[job]
    return op[row, 4] != _NONE or op[row, 5] != _NONE or op[row, 6] != _NONE or s.job_plan[job] != _NONE


@jit
def claim(code, net, s, flight, start):
    """Enter a flight's stations as in use; answers whether it has them to itself. Whoever had one alone no longer does."""
    routes, stations = net.routes, net.stations
    route = s.flight_route[flight]
    free = True
    for step in range(routes.start[route], routes.start[route + 1]):
        for station in range(routes.station[step], routes.station[step] + routes.stripes[step]):
            s.station_users[station] += 1
            if s.station_users[station] > 1:
                free = False
                if s.station_alone[station] != _NONE:
                    join(code, net, s, s.station_alone[station])
            elif s.station_free_fs[station] > start or stations.turn_fs[station] > 0:
                free = False
    return free


@jit
def mark_alone(routes, s, route, flight):
    """Note at every station of a route which flight has it alone, or NONE."""
    for step in range(routes.start[route], routes.start[route + 1]):
        for station in range(routes.station[step], routes.station[step] + routes.stripes[step]):
            s.station_alone[station] = flight


@jit
def join(code, net, s, flight):
    """Turn a flight done in closed form back into flits.

    It enters the network as it stood at its start: nobody has touched its stations since, so what the network then makes
    of it up to this instant is what the closed form said.
    """
    routes = net.routes
    route = s.flight_route[flight]
    first, end = routes.start[route], routes.start[route + 1]
    flits, last_bytes = s.flight_flits[flight], s.flight_last_bytes[flight]
    stripe, start = s.flight_stripe[flight], s.flight_start_fs[flight]
    bound = fly(net.stations, routes, s, first, end, flits, last_bytes, s.scalar[FLIT_BYTES], stripe, start, -1)
    s.flight_alone[flight] = 0
    s.flight_stamp[flight] += 1
    mark_alone(routes, s, route, _NONE)
    enter(code, net, s, flight, bound)


@jit
def land(code, net, s, flight, time):
    """All bytes of a flight will be at the destination at `time`: put down the events that follow.

    A transfer from whose completion nothing follows, and whose stations nobody counts, is simply over.
    """
    job = s.flight_job[flight]
    row = s.job_row[job]
    s.flight_base[flight] = _NONE
    owner, stamp = s.flight_owner[flight], s.flight_stamp[flight]
    done = time + net.routes.tail_fs[s.flight_route[flight]]
    if code.op[row, 6] != _NONE:
        schedule(s, time, (codes.DELIVER << codes.KIND_SHIFT) | owner, stamp, flight)
    if s.flight_alone[flight] == 0 and not awaited(code, s, job):
        s.op_end_fs[row] = done
        s.scalar[LATEST] = max(s.scalar[LATEST], done)
        s.scalar[EVENTS] += 1
        forget(net, s, flight)
        free_job(s, job)
        return
    schedule(s, done, (codes.DONE << codes.KIND_SHIFT) | owner, stamp, flight)


@jit
def forget(net, s, flight):
    """Return a flight's slot and its claims on stations; answers its job."""
    routes, route = net.routes, s.flight_route[flight]
    if s.scalar[HYBRID] == 1 and s.flight_flits[flight] > 0:
        if s.flight_alone[flight] == 1:
            mark_alone(routes, s, route, _NONE)
        for step in range(routes.start[route], routes.start[route + 1]):
            for station in range(routes.station[step], routes.station[step] + routes.stripes[step]):
                s.station_users[station] -= 1
    n = s.scalar[FLIGHT_FREE_N]
    s.flight_free[n] = flight
    s.scalar[FLIGHT_FREE_N] = n + 1
    return s.flight_job[flight]
