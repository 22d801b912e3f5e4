"""Transfers in flight: taking off, meeting others, landing. What happens between, flit by flit, is `network`'s."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.alone import fly, has_form
from kernels_jit.heap import push_bound, schedule
from kernels_jit.jobs import free_job
from kernels_jit.queues import inject
from kernels_jit.state import (
    DURATIONS,
    EVENTS,
    FLIGHT_ALONE,
    FLIGHT_BASE,
    FLIGHT_CLAIMS,
    FLIGHT_END,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_FREE,
    FLIGHT_FREE_N,
    FLIGHT_HOPS,
    FLIGHT_JOB,
    FLIGHT_LAST_BYTES,
    FLIGHT_LATEST_FS,
    FLIGHT_NEXT,
    FLIGHT_OWNER,
    FLIGHT_ROUTE,
    FLIGHT_SIZE,
    FLIGHT_STAMP,
    FLIGHT_START_FS,
    FLIGHT_STRIPE,
    FLIGHT_WORDS,
    FLIT_BYTES,
    FLYING,
    HOP_COLUMNS,
    HOP_ENDS,
    HOP_FLIGHT,
    HOP_GATE,
    HOP_GATED,
    HOP_NEXT,
    HOP_OWNER,
    HOP_STRIPED,
    HYBRID,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    LATEST,
    NOW,
    OP_END_FS,
    PORT_COLUMNS,
    PORTS,
    ROUTE_COLUMNS,
    ROUTE_END,
    ROUTE_LEAD_FS,
    ROUTE_PROPAGATION_FS,
    ROUTE_START,
    ROUTE_TAIL_FS,
    ROUTES,
    STATION_ALONE,
    STATION_COLUMNS,
    STATION_FREE_FS,
    STATION_TURN_FS,
    STATION_USERS,
    STEP_COLUMNS,
    STEP_OVERHEAD_FS,
    STEP_PORT,
    STEP_STATION,
    STEP_STRIPES,
    STEPS,
)

_NONE = codes.NONE


@inner
def take_off(m, op, times, job, now):
    """Begin the transfer of a job's MOVE row: its flits enter the network, or a bare header is on its way."""
    row = m[job + JOB_ROW]
    nbytes = op[row, 2]
    route = m[ROUTES] + op[row, 1] * ROUTE_COLUMNS
    flight = m[FLIGHT_FREE]
    m[FLIGHT_FREE] = m[flight + FLIGHT_NEXT]
    m[FLIGHT_FREE_N] -= 1
    m[FLYING] += 1
    m[flight + FLIGHT_JOB] = job
    m[flight + FLIGHT_OWNER] = m[job + JOB_OWNER]
    m[flight + FLIGHT_ROUTE] = op[row, 1]
    first, end = m[route + ROUTE_START], m[route + ROUTE_END]
    m[flight + FLIGHT_FIRST], m[flight + FLIGHT_END] = first, end
    m[flight + FLIGHT_STRIPE] = op[row, 3]
    m[flight + FLIGHT_STAMP] += 1
    m[flight + FLIGHT_ALONE] = 0
    m[flight + FLIGHT_FLITS] = 0
    m[flight + FLIGHT_CLAIMS] = 0
    start = now + m[m[DURATIONS] + op[row, 7]] + m[route + ROUTE_LEAD_FS]
    if nbytes == 0:
        land(m, op, times, flight, start + m[route + ROUTE_PROPAGATION_FS])
        return
    flits = (nbytes + m[FLIT_BYTES] - 1) // m[FLIT_BYTES]
    last_bytes = nbytes - (flits - 1) * m[FLIT_BYTES]
    start += m[m[STEPS] + first * STEP_COLUMNS + STEP_OVERHEAD_FS]
    m[flight + FLIGHT_FLITS] = flits
    m[flight + FLIGHT_LAST_BYTES] = last_bytes
    m[flight + FLIGHT_START_FS] = start
    m[flight + FLIGHT_CLAIMS] = m[HYBRID]
    if m[HYBRID] == 1 and claim(m, op, flight, start) and has_form(m, first, end, flits, last_bytes):
        landing = fly(m, first, end, flits, last_bytes, op[row, 3], start, 1)
        m[flight + FLIGHT_ALONE] = 1
        m[flight + FLIGHT_LATEST_FS] = landing
        mark_alone(m, flight, flight)
        land(m, op, times, flight, landing)
    else:
        enter(m, op, flight)


@inner
def enter(m, op, flight):
    """All of a flight's flits stand before its first station since its start; it cannot land before it would alone."""
    first, end = m[flight + FLIGHT_FIRST], m[flight + FLIGHT_END]
    start = m[flight + FLIGHT_START_FS]
    set_hops(m, flight)
    for hop in range(flight + FLIGHT_HOPS, flight + FLIGHT_HOPS + (end - first) * HOP_COLUMNS, HOP_COLUMNS):
        m[hop + HOP_OWNER], m[hop + HOP_FLIGHT], m[hop + HOP_GATE] = m[flight + FLIGHT_OWNER], flight, _NONE
    inject(m, flight, first, start)
    if awaited(m, op, m[flight + FLIGHT_JOB]):
        flits, last_bytes = m[flight + FLIGHT_FLITS], m[flight + FLIGHT_LAST_BYTES]
        alone = fly(m, first, end, flits, last_bytes, m[flight + FLIGHT_STRIPE], start, 0)
        push_bound(m, max(alone, start + 1), flight)


@inner
def set_hops(m, flight):
    """Note for each station of a flight's route which port comes after it."""
    hop = flight + FLIGHT_HOPS
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        onward = at + STEP_COLUMNS
        striped = HOP_STRIPED if max(m[at + STEP_STRIPES], m[onward + STEP_STRIPES]) > 1 else 0
        if m[onward + STEP_PORT] == _NONE:
            m[hop + HOP_NEXT] = HOP_ENDS | striped
        else:
            gated = HOP_GATED if m[onward + STEP_OVERHEAD_FS] > 0 else 0
            m[hop + HOP_NEXT] = m[PORTS] + m[onward + STEP_PORT] * PORT_COLUMNS | gated | striped
        hop += HOP_COLUMNS


@inner
def renew_hops(m, start, rows):
    """Note new ports for the flights of a block that are in the network: ports have moved."""
    for flight in range(start, start + rows * m[start + FLIGHT_SIZE], m[start + FLIGHT_SIZE]):
        if m[flight + FLIGHT_BASE] != _NONE:
            set_hops(m, flight)


@inner
def awaited(m, op, job):
    """Whether anything can follow from the completion of a job's transfer."""
    row = m[job + JOB_ROW]
    return op[row, 4] != _NONE or op[row, 5] != _NONE or op[row, 6] != _NONE or m[job + JOB_PLAN] != _NONE


@inner
def claim(m, op, flight, start):
    """Enter a flight's stations as in use; answers whether it has them to itself. Whoever had one alone no longer does.

    The channels of a striped memory are always used together: the first stands for all.
    """
    free = True
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        station = m[at + STEP_STATION]
        other = m[station + STATION_ALONE]
        if other != _NONE:
            if m[other + FLIGHT_LATEST_FS] <= m[NOW]:
                let_go(m, other)
            else:
                join(m, op, other)
        m[station + STATION_USERS] += 1
        if m[station + STATION_USERS] > 1 or m[station + STATION_TURN_FS] > 0:
            free = False
        for _ in range(m[at + STEP_STRIPES]):
            if m[station + STATION_FREE_FS] > start:
                free = False
            station += STATION_COLUMNS
    return free


@inner
def let_go(m, flight):
    """Take back what a flight claims; if it had its route to itself, nobody has now."""
    alone = m[flight + FLIGHT_ALONE] == 1
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        m[m[at + STEP_STATION] + STATION_USERS] -= 1
        if alone:
            m[m[at + STEP_STATION] + STATION_ALONE] = _NONE
    m[flight + FLIGHT_CLAIMS] = 0


@inner
def first_step(m, flight):
    """Where the steps of a flight's route begin."""
    return m[STEPS] + m[flight + FLIGHT_FIRST] * STEP_COLUMNS


@inner
def end_step(m, flight):
    """Where the steps of a flight's route end."""
    return m[STEPS] + m[flight + FLIGHT_END] * STEP_COLUMNS


@inner
def mark_alone(m, flight, who):
    """Note at every station of a flight's route who has it alone: the flight, or NONE."""
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        m[m[at + STEP_STATION] + STATION_ALONE] = who


@inner
def join(m, op, flight):
    """Turn a flight done in closed form back into flits.

    It enters the network as it stood at its start: nobody has touched its stations since, so what the network then makes
    of it up to this instant is what the closed form said.
    """
    flits, last_bytes = m[flight + FLIGHT_FLITS], m[flight + FLIGHT_LAST_BYTES]
    first, end, stripe = m[flight + FLIGHT_FIRST], m[flight + FLIGHT_END], m[flight + FLIGHT_STRIPE]
    fly(m, first, end, flits, last_bytes, stripe, m[flight + FLIGHT_START_FS], -1)
    m[flight + FLIGHT_ALONE] = 0
    m[flight + FLIGHT_STAMP] += 1
    mark_alone(m, flight, _NONE)
    enter(m, op, flight)


@inner
def land(m, op, times, flight, time):
    """All bytes of a flight will be at the destination at `time`: put down the events that follow.

    A transfer from whose completion nothing follows, and which did not have its route to itself, is simply over.
    """
    job = m[flight + FLIGHT_JOB]
    row = m[job + JOB_ROW]
    m[flight + FLIGHT_BASE] = _NONE
    owner, stamp = m[flight + FLIGHT_OWNER], m[flight + FLIGHT_STAMP]
    done = time + m[m[ROUTES] + m[flight + FLIGHT_ROUTE] * ROUTE_COLUMNS + ROUTE_TAIL_FS]
    if op[row, 6] != _NONE:
        schedule(m, time, (codes.DELIVER << codes.KIND_SHIFT) | owner, stamp, flight)
    if m[flight + FLIGHT_ALONE] == 0 and not awaited(m, op, job):
        times[row, OP_END_FS] = done
        m[LATEST] = max(m[LATEST], done)
        m[EVENTS] += 1
        forget(m, flight)
        free_job(m, job)
        return
    schedule(m, done, (codes.DONE << codes.KIND_SHIFT) | owner, stamp, flight)


@inner
def forget(m, flight):
    """Return a flight's row and its claims on stations; answers its job."""
    if m[flight + FLIGHT_CLAIMS] == 1:
        let_go(m, flight)
    m[FLYING] -= 1
    if m[flight + FLIGHT_SIZE] == m[FLIGHT_WORDS]:
        m[flight + FLIGHT_NEXT] = m[FLIGHT_FREE]
        m[FLIGHT_FREE] = flight
        m[FLIGHT_FREE_N] += 1
    return m[flight + FLIGHT_JOB]
