"""The event loop: threads, servers and completions by event, flits by passes over the network.

Map: `run` looks at the earliest event and at the earliest time at which a transfer could land. If the event comes first it
is done: deliveries, completions and wake-ups go to `servers` and `threads`. Otherwise the network is served up to that
time, which either lands the transfer (and so makes events) or tells when it can land at the soonest. What was tried, with
figures, stands in docs/engine.md.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inner, jit
from kernels_jit.compile.pointers import index_pointer_to, pointer_to
from kernels_jit.layout import codes
from kernels_jit.layout.access import bound_at, event_at, job_at, route_at, state_at, transfer_at
from kernels_jit.layout.records import JOB_SHIFT, NEVER
from kernels_jit.simulate.credit_network import count_crossings, next_window_fs, serve_windows
from kernels_jit.simulate.event_heap import drop_event, pop_bound, push_bound
from kernels_jit.simulate.network_pass import next_bound, put_stopped, serve_until
from kernels_jit.simulate.reservations import flush_counters
from kernels_jit.simulate.servers import add, finish
from kernels_jit.simulate.stops import FULL, SERVED_ALL
from kernels_jit.simulate.threads import pool_to_grow, run_thread
from kernels_jit.simulate.transfers import counter_of, free_transfer


@jit
def run(
    words: np.ndarray, op: np.ndarray, entry: np.ndarray, times: np.ndarray, pool: np.ndarray, most_events: int
) -> int:
    """Run until nothing can happen, a thread asks, a pool must grow, or `most_events` more are done. Returns the status.

    Arguments: int64[word] memory (see `layout.records`), int64[entry, ROW_WIDTH] and int32[row] op table, TIME[row]
    times of its rows, int64[slot, 2] queued flits, int.
    """
    m, own, slots = pointer_to(words), pointer_to(times), pointer_to(pool)
    rows = pointer_to(op), index_pointer_to(entry)
    state = state_at(m, 0)
    stop = state.events + most_events
    if pool.shape[0] > state.slot_size:
        state.slot_size = pool.shape[0]
        if state.pass_fs != codes.NONE and not put_stopped(m, slots):
            return codes.GROW_SLOTS
    if state.resume != codes.NONE:
        thread = state.resume
        state.resume = codes.NONE
        status = run_thread(m, rows, own, thread, state.now_fs)
        if status != codes.IDLE:
            return status
    while True:
        status = pool_to_grow(m)
        if status != codes.IDLE:
            return status
        if state.events >= stop:
            flush_counters(m)
            count_crossings(m)
            return codes.MORE
        event_fs = event_at(m, state.heap).fs if state.heap_n > 0 else NEVER
        bound_fs = bound_at(m, state.bounds).fs if state.bound_n > 0 else NEVER
        # Of a network with credits: events come before the last cycle of a window (docs/engine.md, "Networks with credits").
        if next_window_fs(m) < min(event_fs, NEVER):
            if serve_windows(m, rows, own, event_fs, stop):
                count_crossings(m)
                return codes.STALLED
            continue
        if bound_fs <= event_fs:  # no event is earlier: serve what is due before the bound (docs/engine.md, 3)
            if bound_fs == NEVER and state.due_fs == NEVER:
                flush_counters(m)
                count_crossings(m)
                return codes.IDLE
            why = serve_until(m, rows, own, bound_fs, slots, stop)
            if why == SERVED_ALL:
                renew_bounds(m, rows, bound_fs, max(bound_fs, state.due_fs))
            elif why == FULL:
                return codes.GROW_SLOTS
            continue
        status = do_event(m, rows, own)
        if status != codes.IDLE:
            return status


@inner
def do_event(m, op, times):
    """Do the earliest event. Returns the status of the thread it woke, if any."""
    state = state_at(m, 0)
    event = event_at(m, state.heap)
    now, key, index, data = event.fs, event.key, event.index, event.what
    drop_event(m)
    kind = key >> codes.KIND_SHIFT
    # An event with an old stamp is stale: its transfer was reopened, or its job requeued, in the meantime.
    if kind <= codes.DONE and transfer_at(m, data).stamp != index:
        return codes.IDLE
    job = data & (1 << JOB_SHIFT) - 1
    if kind == codes.SERVED and job_at(m, job).stamp != data >> JOB_SHIFT:
        return codes.IDLE
    if CHECKED:
        assert now >= state.now_fs, "an event comes after one of a later time"
        if kind == codes.DONE:
            check_done(m, data, now)
    state.now_key = max(state.now_key, key) if now == state.now_fs else key
    state.now_fs = now
    state.events += 1
    if kind == codes.WAKE:
        return run_thread(m, op, times, data, now)
    if kind == codes.SERVED:
        finish(m, op, times, job, now)
    elif kind == codes.DONE:
        finish(m, op, times, free_transfer(m, data), now)
    else:
        add(m, op, counter_of(m, op, data), 1, now)
    return codes.IDLE


@inner
def check_done(m, place, now):
    """Assert that a transfer is complete when its completion comes."""
    transfer = transfer_at(m, place)
    tail_fs = route_at(m, transfer.route).tail_fs
    assert transfer.from_step == codes.NONE, "a transfer that has not landed is complete"
    assert transfer.flits == 0 or now == transfer.latest_fs + tail_fs, "a transfer is complete at a wrong time"


@inner
def renew_bounds(m, op, horizon, due_fs):
    """Transfers whose bound the horizon has passed have landed, or get a later one; the next service is due at `due_fs`.

    Those that do not land within the clock keep theirs, which is its end.
    """
    state = state_at(m, 0)
    while state.bound_n > 0 and bound_at(m, state.bounds).fs <= min(horizon, NEVER - 1):
        place = pop_bound(m)
        bound_fs = next_bound(m, op, place, due_fs)
        if bound_fs != codes.NONE:
            push_bound(m, bound_fs, place)
            state.rebounds += 1
