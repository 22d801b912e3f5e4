"""The event loop: threads, servers and completions by event, flits by sweeps of the network.

Map: `run` looks at the earliest event and at the earliest time at which a transfer could land. If the event comes first it
is done: deliveries, completions and wake-ups go to `servers` and `threads`. Otherwise the network is served up to that
time, which either lands the transfer (and so makes events) or tells when it can land at the soonest.

What was tried for the flits of 8 x 8 mesh traffic, in million flit-hops a second on one core of a noisy two-core machine:
one heap of all flits 5 to 7; sweeps in channel order with a queue per port, as here, see docs/engine.md.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.flights import forget
from kernels_jit.heap import drop, pop_bound, push_bound
from kernels_jit.network import advance, bound_of, earliest
from kernels_jit.servers import add, finish
from kernels_jit.state import (
    BOUND_N,
    EVENTS,
    FLIGHT_BASE,
    FLIGHT_JOB,
    FLIGHT_STAMP,
    HEAP_N,
    JOB_ROW,
    NEVER,
    NOW,
    RESUME,
)
from kernels_jit.threads import run_thread, short


@jit
def run(code, net, s, pool, most_events):
    """Run until nothing can happen, a thread asks, a pool must grow, or `most_events` more are done.

    Arguments: `tables.Code`, `tables.Network`, `state.State`, int64[slot, 2] queued flits, int. Answers (status, pool).
    """
    scalar = s.scalar
    stop = scalar[EVENTS] + most_events
    if scalar[RESUME] != codes.NONE:
        thread = scalar[RESUME]
        scalar[RESUME] = codes.NONE
        status = run_thread(code, net, s, thread, scalar[NOW])
        if status != codes.IDLE:
            return status, pool
    while True:
        status = short(s)
        if status != codes.IDLE:
            return status, pool
        if scalar[EVENTS] >= stop:
            return codes.MORE, pool
        event_fs = s.heap[0, 0] if scalar[HEAP_N] > 0 else NEVER
        bound_fs = s.bound[0, 0] if scalar[BOUND_N] > 0 else NEVER
        if bound_fs <= event_fs:
            if bound_fs == NEVER and earliest(net, s) == NEVER:
                return codes.IDLE, pool
            pool, reached = advance(code, net, s, bound_fs, pool, stop)
            if reached:
                renew_bounds(net, s, bound_fs)
            continue
        heap = s.heap
        now, key, index, data = heap[0, 0], heap[0, 1], heap[0, 2], heap[0, 3]
        drop(heap, scalar[HEAP_N])
        scalar[HEAP_N] -= 1
        kind = key >> codes.KIND_SHIFT
        if kind <= codes.DONE and s.flight[data, FLIGHT_STAMP] != index:
            continue
        scalar[NOW] = now
        scalar[EVENTS] += 1
        if kind == codes.WAKE:
            status = run_thread(code, net, s, data, now)
            if status != codes.IDLE:
                return status, pool
        elif kind == codes.SERVED:
            finish(code, net, s, data, now)
        elif kind == codes.DONE:
            finish(code, net, s, forget(net, s, data), now)
        else:
            add(code.op, s, code.op[s.job[s.flight[data, FLIGHT_JOB], JOB_ROW], 6], 1, now)


@jit
def renew_bounds(net, s, horizon):
    """Flights whose bound the network has passed have landed, or get a later bound."""
    while s.scalar[BOUND_N] > 0 and s.bound[0, 0] <= horizon:
        flight = pop_bound(s)
        if s.flight[flight, FLIGHT_BASE] != codes.NONE:
            push_bound(s, bound_of(net, s, flight, horizon), flight)
