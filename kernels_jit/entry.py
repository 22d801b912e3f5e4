"""Flights entering the network: flits before their first station, and what they find at each of their way."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.alone import landing_bound
from kernels_jit.heap import push_bound
from kernels_jit.queues import inject
from kernels_jit.state import (
    FLIGHT_BASE,
    FLIGHT_END,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_HOPS,
    FLIGHT_JOB,
    FLIGHT_LAST_BYTES,
    FLIGHT_OWNER,
    FLIGHT_SIZE,
    FLIGHT_START_FS,
    FLIGHT_STRIPE,
    HOP_COLUMNS,
    HOP_ENDS,
    HOP_FLIGHT,
    HOP_GATE,
    HOP_GATED,
    HOP_NEXT,
    HOP_OWNER,
    HOP_STRIPED,
    JOB_PLAN,
    JOB_ROW,
    PORT_COLUMNS,
    PORTS,
    STEP_COLUMNS,
    STEP_OVERHEAD_FS,
    STEP_PORT,
    STEP_STRIPES,
    STEPS,
)

_NONE = codes.NONE


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
        alone = landing_bound(m, first, end, flits, last_bytes, m[flight + FLIGHT_STRIPE], start)
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
def first_step(m, flight):
    """Where the steps of a flight's route begin."""
    return m[STEPS] + m[flight + FLIGHT_FIRST] * STEP_COLUMNS


@inner
def end_step(m, flight):
    """Where the steps of a flight's route end."""
    return m[STEPS] + m[flight + FLIGHT_END] * STEP_COLUMNS
