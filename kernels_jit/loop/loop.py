"""The event loop: threads, servers and completions by event, flits by passes over the network.

Map: `advance` looks at the earliest event and at the earliest time at which a transfer could land. If the event comes first it
is done (`events`): deliveries, completions and wake-ups go to `servers` and `threads`. Otherwise the network is served up to
that time, which either lands the transfer (and so makes events) or tells when it can land at the soonest. Networks with
credits have a loop of their own (`credits.loop`), so that either is compiled without the other. What was tried, with figures,
is in docs/engine.md.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.compile.pointers import index_pointer_to, pointer_to
from kernels_jit.flits.reservations import flush_counters
from kernels_jit.layout import codes
from kernels_jit.layout.access import bound_at, state_at
from kernels_jit.layout.records import NEVER
from kernels_jit.loop.event_heap import pop_bound, push_bound
from kernels_jit.loop.events import begin_call, do_event, next_event_fs
from kernels_jit.loop.network_pass import next_bound, put_stopped, serve_until
from kernels_jit.loop.stops import FULL, SERVED_ALL, is_enough
from kernels_jit.loop.threads import pool_to_grow


@jit
def run(
    words: np.ndarray, op: np.ndarray, entry: np.ndarray, times: np.ndarray, pool: np.ndarray, most_work: int
) -> int:
    """Run until nothing can happen, a thread asks, a pool must grow, or `most_work` is done. Returns the status.

    Arguments: int64[word] memory (see `layout.records`), int64[entry, ROW_WIDTH] and int32[row] op table, TIME[row]
    times of its rows, int64[slot, 2] queued flits, int.
    """
    rows = pointer_to(op), index_pointer_to(entry)
    return advance(pointer_to(words), rows, pointer_to(times), pointer_to(pool), pool.shape[0], most_work)


@inner
def advance(m, op, times, slots, slot_size, most_work):
    """As `run`, from pointers."""
    state = state_at(m, 0)
    if slot_size > state.slot_size:
        state.slot_size = slot_size
        if state.pass_fs != codes.NONE and not put_stopped(m, slots):
            return codes.GROW_SLOTS
    status = begin_call(m, op, times, most_work)
    while status == codes.IDLE or status == codes.MORE:
        status = pool_to_grow(m)
        if status != codes.IDLE:
            return status
        if is_enough(state):
            flush_counters(m)
            return codes.MORE
        event_fs = next_event_fs(m)
        bound_fs = min(bound_at(m, state.bounds).fs, NEVER) if state.bound_n > 0 else NEVER
        if bound_fs > event_fs:
            status = do_event(m, op, times)
        elif bound_fs == NEVER and state.due_fs == NEVER:
            flush_counters(m)
            return codes.IDLE
        else:  # no event is earlier: serve what is due before the bound (docs/engine.md, 3)
            why = serve_until(m, op, times, bound_fs, slots)
            if why == FULL:
                return codes.GROW_SLOTS
            if why == SERVED_ALL:
                renew_bounds(m, op, bound_fs, max(bound_fs, state.due_fs))
    return status


@inner
def renew_bounds(m, op, horizon, due_fs):
    """Transfers whose bound the horizon has passed have landed, or get a later one; the next service is due at `due_fs`.

    Those that do not land within the clock keep theirs, which is its end.
    """
    state = state_at(m, 0)
    while state.bound_n > 0 and bound_at(m, state.bounds).fs <= min(horizon, NEVER - 1):
        place = pop_bound(m)
        bound_fs = next_bound(m, op, place, due_fs)
        state.looks += 1
        if bound_fs != codes.NONE:
            push_bound(m, bound_fs, place)
            state.rebounds += 1
