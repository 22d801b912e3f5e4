"""Threads: the rows between two waits, done at one instant."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.heap import schedule
from kernels_jit.jobs import new_job
from kernels_jit.servers import add, met, request, start_plan
from kernels_jit.state import (
    ASKING,
    COUNTER_VALUE,
    COUNTER_WAITER,
    FLIGHT_FREE_N,
    HEAP_N,
    JOB_FREE_N,
    MARGIN,
    OP_END_FS,
    OP_ISSUE_FS,
    OP_START_FS,
    RESUME,
    THREAD_CURSOR,
    THREAD_END,
    THREAD_NEXT,
    THREAD_SEQ,
)


@jit
def short(s):
    """The pool that may not last for one more event or op, as a status; IDLE if there is room in all."""
    margin = s.scalar[MARGIN]
    flying = s.flight_free.size - s.scalar[FLIGHT_FREE_N]
    if s.heap.shape[0] - s.scalar[HEAP_N] < margin + s.thread.shape[0] + 2 * flying:
        return codes.GROW_HEAP
    if s.scalar[JOB_FREE_N] < margin:
        return codes.GROW_JOB
    if s.scalar[FLIGHT_FREE_N] < margin:
        return codes.GROW_FLIGHT
    return codes.IDLE


@jit
def run_thread(code, net, s, thread, now):
    """Do a thread's rows until it waits, asks or ends. Answers IDLE, ASKED, or the pool to enlarge before going on."""
    op = code.op
    wake = (codes.WAKE << codes.KIND_SHIFT) | thread
    while s.thread[thread, THREAD_CURSOR] < s.thread[thread, THREAD_END]:
        status = short(s)
        if status != codes.IDLE:
            s.scalar[RESUME] = thread
            return status
        row = s.thread[thread, THREAD_CURSOR]
        kind = op[row, 0]
        if kind == codes.WAIT:
            if s.times[row, OP_ISSUE_FS] == codes.NONE:
                s.times[row, OP_ISSUE_FS] = now
                s.times[row, OP_START_FS] = now
            if not met(op, s, row):
                counter = op[row, 1]
                s.thread[thread, THREAD_NEXT] = s.counter[counter, COUNTER_WAITER]
                s.counter[counter, COUNTER_WAITER] = thread
                return codes.IDLE
            s.counter[op[row, 1], COUNTER_VALUE] -= op[row, 4]
            s.times[row, OP_END_FS] = now
            s.thread[thread, THREAD_CURSOR] = row + 1
            continue
        s.thread[thread, THREAD_CURSOR] = row + 1
        owner = (thread << codes.SEQ_BITS) | s.thread[thread, THREAD_SEQ]
        if kind == codes.EXEC or kind == codes.MOVE:
            s.thread[thread, THREAD_SEQ] += 1
            request(code, net, s, new_job(s, row, row + 1, owner, codes.NONE), now)
            continue
        if kind == codes.PIPE:
            plan = op[row, 1]
            last = code.plan_start[plan + 1] - 1
            s.thread[thread, THREAD_SEQ] += code.token_end[last] - code.token_start[code.plan_start[plan]]
            start_plan(code, net, s, row, owner, now)
            continue
        s.times[row, OP_ISSUE_FS] = now
        s.times[row, OP_START_FS] = now
        s.times[row, OP_END_FS] = now
        if kind == codes.DELAY or kind == codes.UNTIL:
            end = now + code.duration_fs[op[row, 1]] if kind == codes.DELAY else op[row, 1]
            if end > now:
                s.times[row, OP_END_FS] = end
                schedule(s, end, wake, 0, thread)
                return codes.IDLE
        elif kind == codes.ADD:
            add(op, s, op[row, 1], op[row, 2], now)
        elif kind == codes.ASK:
            s.scalar[ASKING] = thread
            s.scalar[RESUME] = thread
            return codes.ASKED
    return codes.IDLE
