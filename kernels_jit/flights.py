"""Transfers in flight: taking off, meeting others, landing. What happens between, flit by flit, is `network`'s."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.alone import fly
from kernels_jit.heap import push_bound, schedule
from kernels_jit.jobs import free_job
from kernels_jit.queues import inject
from kernels_jit.state import (
    EVENTS,
    FLIGHT_ALONE,
    FLIGHT_BASE,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_FREE_N,
    FLIGHT_JOB,
    FLIGHT_LAST_BYTES,
    FLIGHT_OWNER,
    FLIGHT_ROUTE,
    FLIGHT_STAMP,
    FLIGHT_START_FS,
    FLIGHT_STRIPE,
    FLIT_BYTES,
    HYBRID,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    LATEST,
    OP_END_FS,
    STATION_ALONE,
    STATION_FREE_FS,
    STATION_USERS,
)
from kernels_jit.tables import (
    ROUTE_END,
    ROUTE_LEAD_FS,
    ROUTE_PROPAGATION_FS,
    ROUTE_START,
    ROUTE_TAIL_FS,
    STEP_OVERHEAD_FS,
    STEP_STATION,
    STEP_STRIPES,
    TURN_FS,
)

_NONE = codes.NONE


@jit
def take_off(code, net, s, job, now):
    """Begin the transfer of a job's MOVE row: its flits enter the network, or a bare header is on its way."""
    op = code.op
    row = s.job[job, JOB_ROW]
    route, nbytes = op[row, 1], op[row, 2]
    n = s.scalar[FLIGHT_FREE_N] - 1
    s.scalar[FLIGHT_FREE_N] = n
    flight = s.flight_free[n]
    s.flight[flight, FLIGHT_JOB] = job
    s.flight[flight, FLIGHT_OWNER] = s.job[job, JOB_OWNER]
    s.flight[flight, FLIGHT_ROUTE] = route
    s.flight[flight, FLIGHT_FIRST] = net.route[route, ROUTE_START]
    s.flight[flight, FLIGHT_STRIPE] = op[row, 3]
    s.flight[flight, FLIGHT_STAMP] += 1
    s.flight[flight, FLIGHT_ALONE] = 0
    s.flight[flight, FLIGHT_FLITS] = 0
    start = now + code.duration_fs[op[row, 7]] + net.route[route, ROUTE_LEAD_FS]
    if nbytes == 0:
        land(code, net, s, flight, start + net.route[route, ROUTE_PROPAGATION_FS])
        return
    flit_bytes = s.scalar[FLIT_BYTES]
    flits = (nbytes + flit_bytes - 1) // flit_bytes
    last_bytes = nbytes - (flits - 1) * flit_bytes
    first, end = net.route[route, ROUTE_START], net.route[route, ROUTE_END]
    start += net.step[first, STEP_OVERHEAD_FS]
    s.flight[flight, FLIGHT_FLITS] = flits
    s.flight[flight, FLIGHT_LAST_BYTES] = last_bytes
    s.flight[flight, FLIGHT_START_FS] = start
    bound = fly(net, s, first, end, flits, last_bytes, flit_bytes, op[row, 3], start, 0)
    if s.scalar[HYBRID] == 1 and claim(code, net, s, flight, start) and bound != _NONE:
        fly(net, s, first, end, flits, last_bytes, flit_bytes, op[row, 3], start, 1)
        s.flight[flight, FLIGHT_ALONE] = 1
        mark_alone(net, s, route, flight)
        land(code, net, s, flight, bound)
    else:
        enter(code, net, s, flight, max(bound, start + 1))


@jit
def enter(code, net, s, flight, bound):
    """All of a flight's flits stand before its first station since its start; it cannot land before `bound`."""
    first = net.route[s.flight[flight, FLIGHT_ROUTE], ROUTE_START]
    steps = net.route[s.flight[flight, FLIGHT_ROUTE], ROUTE_END] - first
    for step in range(steps):
        s.gate[flight, step] = _NONE
    inject(net, s, flight, first, s.flight[flight, FLIGHT_START_FS])
    if awaited(code, s, s.flight[flight, FLIGHT_JOB]):
        push_bound(s, bound, flight)


@jit
def awaited(code, s, job):
    """Whether anything can follow from the completion of a job's transfer."""
    op, row = code.op, s.job[job, JOB_ROW]
    return op[row, 4] != _NONE or op[row, 5] != _NONE or op[row, 6] != _NONE or s.job[job, JOB_PLAN] != _NONE


@jit
def claim(code, net, s, flight, start):
    """Enter a flight's stations as in use; answers whether it has them to itself. Whoever had one alone no longer does."""
    route = s.flight[flight, FLIGHT_ROUTE]
    free = True
    for step in range(net.route[route, ROUTE_START], net.route[route, ROUTE_END]):
        for station in range(net.step[step, STEP_STATION], net.step[step, STEP_STATION] + net.step[step, STEP_STRIPES]):
            s.station[station, STATION_USERS] += 1
            if s.station[station, STATION_USERS] > 1:
                free = False
                if s.station[station, STATION_ALONE] != _NONE:
                    join(code, net, s, s.station[station, STATION_ALONE])
            elif s.station[station, STATION_FREE_FS] > start or net.service[station, TURN_FS] > 0:
                free = False
    return free


@jit
def mark_alone(net, s, route, flight):
    """Note at every station of a route which flight has it alone, or NONE."""
    for step in range(net.route[route, ROUTE_START], net.route[route, ROUTE_END]):
        for station in range(net.step[step, STEP_STATION], net.step[step, STEP_STATION] + net.step[step, STEP_STRIPES]):
            s.station[station, STATION_ALONE] = flight


@jit
def join(code, net, s, flight):
    """Turn a flight done in closed form back into flits.

    It enters the network as it stood at its start: nobody has touched its stations since, so what the network then makes
    of it up to this instant is what the closed form said.
    """
    route = s.flight[flight, FLIGHT_ROUTE]
    first, end = net.route[route, ROUTE_START], net.route[route, ROUTE_END]
    flits, last_bytes = s.flight[flight, FLIGHT_FLITS], s.flight[flight, FLIGHT_LAST_BYTES]
    stripe, start = s.flight[flight, FLIGHT_STRIPE], s.flight[flight, FLIGHT_START_FS]
    bound = fly(net, s, first, end, flits, last_bytes, s.scalar[FLIT_BYTES], stripe, start, -1)
    s.flight[flight, FLIGHT_ALONE] = 0
    s.flight[flight, FLIGHT_STAMP] += 1
    mark_alone(net, s, route, _NONE)
    enter(code, net, s, flight, bound)


@jit
def land(code, net, s, flight, time):
    """All bytes of a flight will be at the destination at `time`: put down the events that follow.

    A transfer from whose completion nothing follows, and whose stations nobody counts, is simply over.
    """
    job = s.flight[flight, FLIGHT_JOB]
    row = s.job[job, JOB_ROW]
    s.flight[flight, FLIGHT_BASE] = _NONE
    owner, stamp = s.flight[flight, FLIGHT_OWNER], s.flight[flight, FLIGHT_STAMP]
    done = time + net.route[s.flight[flight, FLIGHT_ROUTE], ROUTE_TAIL_FS]
    if code.op[row, 6] != _NONE:
        schedule(s, time, (codes.DELIVER << codes.KIND_SHIFT) | owner, stamp, flight)
    if s.flight[flight, FLIGHT_ALONE] == 0 and not awaited(code, s, job):
        s.times[row, OP_END_FS] = done
        s.scalar[LATEST] = max(s.scalar[LATEST], done)
        s.scalar[EVENTS] += 1
        forget(net, s, flight)
        free_job(s, job)
        return
    schedule(s, done, (codes.DONE << codes.KIND_SHIFT) | owner, stamp, flight)


@jit
def forget(net, s, flight):
    """Return a flight's slot and its claims on stations; answers its job."""
    route = s.flight[flight, FLIGHT_ROUTE]
    if s.scalar[HYBRID] == 1 and s.flight[flight, FLIGHT_FLITS] > 0:
        if s.flight[flight, FLIGHT_ALONE] == 1:
            mark_alone(net, s, route, _NONE)
        for step in range(net.route[route, ROUTE_START], net.route[route, ROUTE_END]):
            for station in range(
                net.step[step, STEP_STATION], net.step[step, STEP_STATION] + net.step[step, STEP_STRIPES]
            ):
                s.station[station, STATION_USERS] -= 1
    n = s.scalar[FLIGHT_FREE_N]
    s.flight_free[n] = flight
    s.scalar[FLIGHT_FREE_N] = n + 1
    return s.flight[flight, FLIGHT_JOB]
