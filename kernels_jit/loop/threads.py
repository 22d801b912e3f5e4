"""Threads: the rows between two waits, done at one instant."""

from __future__ import annotations

from kernels_jit.compile.jit import inlined, inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.credits.hop_codes import hop_code_place
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    ROUTE_WORDS,
    add_at,
    code_at,
    counter_at,
    delay_at,
    duration_at,
    move_at,
    route_at,
    state_at,
    thread_at,
    time_at,
    until_at,
    wait_at,
)
from kernels_jit.layout.records import OP_WORDS
from kernels_jit.loop.event_heap import schedule
from kernels_jit.loop.stops import is_enough
from kernels_jit.servers.jobs import new_job
from kernels_jit.servers.service import add, is_met, request, start_plan


@inner
def pool_to_grow(m):
    """The pool that may not last for one more event or op, as a status; IDLE if there is room in all."""
    state = state_at(m, 0)
    # Each thread may need a wake-up, each transfer a delivery and a completion.
    if state.heap_size - state.heap_n < state.margin + state.thread_n + 2 * state.in_flight:
        return codes.GROW_HEAP
    if state.job_free_n < state.margin:
        return codes.GROW_JOBS
    if state.transfer_free_n < state.margin:
        return codes.GROW_TRANSFERS
    return codes.IDLE


FETCHED = 8  # rows ahead


@inlined
def fetch_moves(m, op, row, end):
    """Hint at what the transfers of some rows from one on read first: an entry, then its route, then its first step."""
    state = state_at(m, 0)
    if row + FETCHED < end:
        prefetch(op[0], op[1][row + FETCHED] * OP_WORDS)
        move = move_at(op, row + FETCHED // 2)
        if move.code == codes.MOVE:
            prefetch(m, state.routes + move.route * ROUTE_WORDS)
        move = move_at(op, row)
        if move.code == codes.MOVE:
            prefetch(m, hop_code_place(m, route_at(m, move.route).start))


@inner
def run_thread(m, op, times, number, now):
    """Do a thread's rows until it waits, asks or ends. Returns IDLE, ASKED, MORE, or what has to grow before it goes on."""
    thread, state = thread_at(m, number), state_at(m, 0)
    while thread.cursor < thread.end:
        status = codes.MORE if is_enough(state) else pool_to_grow(m)  # before each row, so that no row stops half done
        if status != codes.IDLE:
            state.resume = number
            return status
        state.looks += 1
        row = thread.cursor
        code, time = code_at(op, row).code, time_at(times, row)
        if code == codes.WAIT:
            if time.issue_fs == codes.NONE:
                time.issue_fs, time.start_fs = now, now
            wait = wait_at(op, row)
            counter = counter_at(m, wait.counter)
            if not is_met(m, op, row):
                thread.next = counter.waiter
                counter.waiter = number
                return codes.IDLE
            counter.value -= wait.takes
            time.end_fs = now
            thread.cursor = row + 1
            continue
        if row >= state.pending_row and (code == codes.MOVE or code == codes.PIPE):
            state.resume = number
            return codes.LAY
        thread.cursor = row + 1
        owner = (number << codes.SEQ_BITS) | thread.sequence
        if code == codes.EXEC or code == codes.MOVE:
            thread.sequence += 1
            if state.credit != codes.NONE:
                fetch_moves(m, op, row + 1, min(thread.end, state.pending_row))
            request(m, op, times, new_job(m, row, row + 1, owner, codes.NONE), now)
            continue
        if code == codes.PIPE:
            thread.sequence += start_plan(m, op, times, row, owner, now)
            continue
        if code == codes.ARRIVE:  # belongs to the MOVE before it
            continue
        time.issue_fs, time.start_fs, time.end_fs = now, now, now
        if code == codes.DELAY or code == codes.UNTIL:
            end_fs = (
                now + duration_at(m, delay_at(op, row).duration).fs
                if code == codes.DELAY
                else until_at(op, row).time_fs
            )
            if end_fs > now:
                time.end_fs = end_fs
                schedule(m, end_fs, (codes.WAKE << codes.KIND_SHIFT) | number, 0, number)
                return codes.IDLE
        elif code == codes.ADD:
            addition = add_at(op, row)
            add(m, op, addition.counter, addition.amount, now)
        elif code == codes.ASK:
            state.asking = number
            state.resume = number
            return codes.ASKED
    return codes.IDLE
