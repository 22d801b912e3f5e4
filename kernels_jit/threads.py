"""Threads: the rows between two waits, done at one instant."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.heap import schedule
from kernels_jit.jobs import new_job
from kernels_jit.servers import add, met, request, start_plan
from kernels_jit.state import (
    ASKING,
    COUNTER_COLUMNS,
    COUNTER_VALUE,
    COUNTER_WAITER,
    COUNTERS,
    DURATIONS,
    FLIGHT_FREE_N,
    FLYING,
    HEAP_N,
    HEAP_SIZE,
    JOB_FREE_N,
    MARGIN,
    OP_END_FS,
    OP_ISSUE_FS,
    OP_START_FS,
    RESUME,
    THREAD_COLUMNS,
    THREAD_CURSOR,
    THREAD_END,
    THREAD_N,
    THREAD_NEXT,
    THREAD_SEQ,
    THREADS,
    UNLAID,
)


@inner
def short(m):
    """The pool that may not last for one more event or op, as a status; IDLE if there is room in all."""
    margin = m[MARGIN]
    if m[HEAP_SIZE] - m[HEAP_N] < margin + m[THREAD_N] + 2 * m[FLYING]:
        return codes.GROW_HEAP
    if m[JOB_FREE_N] < margin:
        return codes.GROW_JOB
    if m[FLIGHT_FREE_N] < margin:
        return codes.GROW_FLIGHT
    return codes.IDLE


@inner
def run_thread(m, op, times, number, now):
    """Do a thread's rows until it waits, asks or ends. Answers IDLE, ASKED, or what has to grow before it goes on."""
    thread = m[THREADS] + number * THREAD_COLUMNS
    wake = (codes.WAKE << codes.KIND_SHIFT) | number
    while m[thread + THREAD_CURSOR] < m[thread + THREAD_END]:
        status = short(m)
        if status != codes.IDLE:
            m[RESUME] = number
            return status
        row = m[thread + THREAD_CURSOR]
        kind = op[row, 0]
        if kind == codes.WAIT:
            if times[row, OP_ISSUE_FS] == codes.NONE:
                times[row, OP_ISSUE_FS] = now
                times[row, OP_START_FS] = now
            counter = m[COUNTERS] + op[row, 1] * COUNTER_COLUMNS
            if not met(m, op, row):
                m[thread + THREAD_NEXT] = m[counter + COUNTER_WAITER]
                m[counter + COUNTER_WAITER] = number
                return codes.IDLE
            m[counter + COUNTER_VALUE] -= op[row, 4]
            times[row, OP_END_FS] = now
            m[thread + THREAD_CURSOR] = row + 1
            continue
        if row >= m[UNLAID] and (kind == codes.MOVE or kind == codes.PIPE):
            m[RESUME] = number
            return codes.LAY
        m[thread + THREAD_CURSOR] = row + 1
        owner = (number << codes.SEQ_BITS) | m[thread + THREAD_SEQ]
        if kind == codes.EXEC or kind == codes.MOVE:
            m[thread + THREAD_SEQ] += 1
            request(m, op, times, new_job(m, row, row + 1, owner, codes.NONE), now)
            continue
        if kind == codes.PIPE:
            m[thread + THREAD_SEQ] += start_plan(m, op, times, row, owner, now)
            continue
        times[row, OP_ISSUE_FS] = now
        times[row, OP_START_FS] = now
        times[row, OP_END_FS] = now
        if kind == codes.DELAY or kind == codes.UNTIL:
            end = now + m[m[DURATIONS] + op[row, 1]] if kind == codes.DELAY else op[row, 1]
            if end > now:
                times[row, OP_END_FS] = end
                schedule(m, end, wake, 0, number)
                return codes.IDLE
        elif kind == codes.ADD:
            add(m, op, op[row, 1], op[row, 2], now)
        elif kind == codes.ASK:
            m[ASKING] = number
            m[RESUME] = number
            return codes.ASKED
    return codes.IDLE
