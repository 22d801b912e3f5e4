"""The event loop: threads, servers and completions by event, flits by sweeps of the network.

Map: `run` looks at the earliest event and at the earliest time at which a transfer could land. If the event comes first it
is done: deliveries, completions and wake-ups go to `servers` and `threads`. Otherwise the network is served up to that
time, which either lands the transfer (and so makes events) or tells when it can land at the soonest. What was tried, with
figures, stands in docs/engine.md.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner, jit
from kernels_jit.flights import forget
from kernels_jit.heap import drop_event, pop_bound, push_bound
from kernels_jit.leases import settle_all
from kernels_jit.network import advance, bound_of, earliest, put_stopped
from kernels_jit.queues import enlarge
from kernels_jit.servers import add, finish
from kernels_jit.state import (
    BOUND_N,
    BOUNDS,
    EVENTS,
    FLIGHT_BASE,
    FLIGHT_JOB,
    FLIGHT_STAMP,
    HEAP,
    HEAP_N,
    JOB_ROW,
    JOB_SHIFT,
    JOB_STAMP,
    NEVER,
    NOW,
    NOW_KEY,
    RESUME,
)
from kernels_jit.station import FULL, SERVED_ALL
from kernels_jit.threads import run_thread, short


@jit
def run(m, op, times, pool, most_events):
    """Run until nothing can happen, a thread asks, a pool must grow, or `most_events` more are done.

    Arguments: int64[word] memory (see `state`), int64[row, ROW_WIDTH] op table, int64[row, OP_COLUMNS] times of its rows,
    int64[slot, 2] queued flits, int. Answers (status, pool).
    """
    stop = m[EVENTS] + most_events
    if m[RESUME] != codes.NONE:
        thread = m[RESUME]
        m[RESUME] = codes.NONE
        status = run_thread(m, op, times, thread, m[NOW])
        if status != codes.IDLE:
            return status, pool
    while True:
        status = short(m)
        if status != codes.IDLE:
            return status, pool
        if m[EVENTS] >= stop:
            settle_all(m)
            return codes.MORE, pool
        event_fs = m[m[HEAP]] if m[HEAP_N] > 0 else NEVER
        bound_fs = m[m[BOUNDS]] if m[BOUND_N] > 0 else NEVER
        if bound_fs <= event_fs:
            if bound_fs == NEVER and earliest(m, NEVER) == NEVER:
                settle_all(m)
                return codes.IDLE, pool
            why = advance(m, op, times, bound_fs, pool, stop)
            if why == SERVED_ALL:
                renew_bounds(m, bound_fs)
            elif why == FULL:
                pool = enlarge(pool)
                put_stopped(m, pool)
            continue
        status = do_event(m, op, times)
        if status != codes.IDLE:
            return status, pool


@inner
def do_event(m, op, times):
    """Do the earliest event; answers the status of the thread it woke, if any."""
    at = m[HEAP]
    now, key, index, data = m[at], m[at + 1], m[at + 2], m[at + 3]
    drop_event(m)
    kind = key >> codes.KIND_SHIFT
    if kind <= codes.DONE and m[data + FLIGHT_STAMP] != index:
        return codes.IDLE
    job = data & (1 << JOB_SHIFT) - 1
    if kind == codes.SERVED and m[job + JOB_STAMP] != data >> JOB_SHIFT:
        return codes.IDLE
    m[NOW_KEY] = max(m[NOW_KEY], key) if now == m[NOW] else key
    m[NOW] = now
    m[EVENTS] += 1
    if kind == codes.WAKE:
        return run_thread(m, op, times, data, now)
    if kind == codes.SERVED:
        finish(m, op, times, job, now)
    elif kind == codes.DONE:
        finish(m, op, times, forget(m, data), now)
    else:
        add(m, op, op[m[m[data + FLIGHT_JOB] + JOB_ROW], 6], 1, now)
    return codes.IDLE


@inner
def renew_bounds(m, horizon):
    """Flights whose bound the network has passed have landed, or get a later bound."""
    while m[BOUND_N] > 0 and m[m[BOUNDS]] <= horizon:
        flight = pop_bound(m)
        if m[flight + FLIGHT_BASE] != codes.NONE:
            push_bound(m, bound_of(m, flight, horizon), flight)
