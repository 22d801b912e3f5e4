"""Events: what a call of the loop begins with, and what the earliest event does."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.flits.transfers import counter_of, free_transfer
from kernels_jit.layout import codes
from kernels_jit.layout.access import event_at, job_at, route_at, state_at, transfer_at
from kernels_jit.layout.records import JOB_SHIFT, NEVER
from kernels_jit.loop.event_heap import drop_event
from kernels_jit.loop.threads import run_thread
from kernels_jit.servers.service import add, finish


@inner
def begin_call(m, op, times, most_work):
    """Let a call of the loop do so much work, and go on with the thread that the last call left. Returns its status."""
    state = state_at(m, 0)
    state.stop = state.events + state.looks + most_work
    if state.resume == codes.NONE:
        return codes.IDLE
    thread = state.resume
    state.resume = codes.NONE
    return run_thread(m, op, times, thread, state.now_fs)


@inner
def next_event_fs(m):
    """When the earliest event comes, or NEVER."""
    state = state_at(m, 0)
    return min(event_at(m, state.heap).fs, NEVER) if state.heap_n > 0 else NEVER


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
