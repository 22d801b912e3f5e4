"""Transfers in flight: taking off, landing, what follows. What happens between, flit by flit, is `network`'s."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.coupling import couple, set_out_fs
from kernels_jit.entry import awaited, enter
from kernels_jit.heap import schedule
from kernels_jit.jobs import free_job
from kernels_jit.leases import give_back, pass_alone, take_lease
from kernels_jit.state import (
    ALONE_COUNTED,
    DURATIONS,
    EVENTS,
    FLIGHT_ALONE,
    FLIGHT_BASE,
    FLIGHT_CLAIMS,
    FLIGHT_COUPLED,
    FLIGHT_END,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_FREE,
    FLIGHT_FREE_N,
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
    HYBRID,
    JOB_OWNER,
    JOB_ROW,
    LATEST,
    OP_END_FS,
    ROUTE_COLUMNS,
    ROUTE_END,
    ROUTE_LEAD_FS,
    ROUTE_PROPAGATION_FS,
    ROUTE_START,
    ROUTE_TAIL_FS,
    ROUTES,
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
    m[flight + FLIGHT_COUPLED] = 0
    if nbytes == 0:
        start = now + m[m[DURATIONS] + op[row, 7]] + m[route + ROUTE_LEAD_FS]
        land(m, op, times, flight, start + m[route + ROUTE_PROPAGATION_FS])
        return
    flits = (nbytes + m[FLIT_BYTES] - 1) // m[FLIT_BYTES]
    m[flight + FLIGHT_FLITS] = flits
    m[flight + FLIGHT_LAST_BYTES] = nbytes - (flits - 1) * m[FLIT_BYTES]
    m[flight + FLIGHT_START_FS] = set_out_fs(m, op, row, now)
    if m[HYBRID] == 1 and take_lease(m, op, times, flight):
        m[flight + FLIGHT_LATEST_FS] = pass_alone(m, flight)
        if m[flight + FLIGHT_ALONE] == ALONE_COUNTED:
            couple(m, op, times, flight)
        land(m, op, times, flight, m[flight + FLIGHT_LATEST_FS])
    else:
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
    give_back(m, flight)
    m[flight + FLIGHT_COUPLED] = 0
    m[FLYING] -= 1
    if m[flight + FLIGHT_SIZE] == m[FLIGHT_WORDS]:
        m[flight + FLIGHT_NEXT] = m[FLIGHT_FREE]
        m[FLIGHT_FREE] = flight
        m[FLIGHT_FREE_N] += 1
    return m[flight + FLIGHT_JOB]
