"""Threads: the rows between two waits, done at one instant."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.heap import schedule
from kernels_jit.jobs import new_job
from kernels_jit.servers import add, met, request, start_plan
from kernels_jit.state import ASKING, FLIGHT_FREE_N, HEAP_N, JOB_FREE_N, MARGIN, RESUME


@jit
def short(s):
    """The pool that may not last for one more event or op, as a status; IDLE if there is room in all."""
    margin = s.scalar[MARGIN]
    flying = s.flight_free.size - s.scalar[FLIGHT_FREE_N]
    if s.heap_fs.size - s.scalar[HEAP_N] < margin + s.thread_cursor.size + 2 * flying:
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
    while s.thread_cursor[thread] < s.thread_end[thread]:
        status = short(s)
        if status != codes.IDLE:
            s.scalar[RESUME] = thread
            return status
        row = s.thread_cursor[thread]
        kind = op[row, 0]
        if kind == codes.WAIT:
            if s.op_issue_fs[row] == codes.NONE:
                s.op_issue_fs[row] = now
                s.op_start_fs[row] = now
            if not met(op, s, row):
                counter = op[row, 1]
                s.thread_next[thread] = s.counter_waiter[counter]
                s.counter_waiter[counter] = thread
                return codes.IDLE
            s.counter_value[op[row, 1]] -= op[row, 4]
            s.op_end_fs[row] = now
            s.thread_cursor[thread] = row + 1
            continue
        s.thread_cursor[thread] = row + 1
        owner = (thread << codes.SEQ_BITS) | s.thread_seq[thread]
        if kind == codes.EXEC or kind == codes.MOVE:
            s.thread_seq[thread] += 1
            request(code, net, s, new_job(s, row, row + 1, owner, codes.NONE), now)
            continue
        if kind == codes.PIPE:
            plan = op[row, 1]
            last = code.plan_start[plan + 1] - 1
            s.thread_seq[thread] += code.token_end[last] - code.token_start[code.plan_start[plan]]
            start_plan(code, net, s, row, owner, now)
            continue
        s.op_issue_fs[row] = now
        s.op_start_fs[row] = now
        s.op_end_fs[row] = now
        if kind == codes.DELAY or kind == codes.UNTIL:
            end = now + code.duration_fs[op[row, 1]] if kind == codes.DELAY else op[row, 1]
            if end > now:
                s.op_end_fs[row] = end
                schedule(s, end, wake, 0, thread)
                return codes.IDLE
        elif kind == codes.ADD:
            add(op, s, op[row, 1], op[row, 2], now)
        elif kind == codes.ASK:
            s.scalar[ASKING] = thread
            s.scalar[RESUME] = thread
            return codes.ASKED
    return codes.IDLE
