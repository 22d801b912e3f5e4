"""Jobs on servers: asking for a slot, being served, walking a tile plan's stages, giving the slot back.

A job is one row being done on behalf of a thread, or one token of a plan walking its rows. A plan whose tokens still
queue is a single entry of its first server's queue that hands out one token after the other.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import jit
from kernels_jit.flights import take_off
from kernels_jit.heap import schedule
from kernels_jit.jobs import free_job, new_job
from kernels_jit.state import (
    COUNTER_VALUE,
    COUNTER_WAITER,
    JOB_END,
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    JOB_TOKEN,
    OP_END_FS,
    OP_ISSUE_FS,
    OP_START_FS,
    PLAN_LEFT,
    PLAN_ROW,
    SERVER_BUSY_FS,
    SERVER_FIRST,
    SERVER_LAST,
    SERVER_SLOTS,
    SERVER_USED,
    THREAD_CURSOR,
    THREAD_NEXT,
)

_NONE = codes.NONE


@jit
def server_of(op, row):
    """The server a stage occupies, or NONE."""
    return op[row, 1] if op[row, 0] == codes.EXEC else op[row, 5]


@jit
def begin(code, net, s, job, now):
    """The job has its slot: start its row."""
    op = code.op
    row = s.job[job, JOB_ROW]
    s.times[row, OP_START_FS] = now
    if op[row, 0] == codes.EXEC:
        end = now + code.duration_fs[op[row, 2]]
        schedule(s, end, (codes.SERVED << codes.KIND_SHIFT) | op[row, 1], s.job[job, JOB_OWNER], job)
    else:
        take_off(code, net, s, job, now)


@jit
def request(code, net, s, job, now):
    """The job asks for its row's server: served at once if a slot is free and nobody queues, else it joins the queue."""
    row = s.job[job, JOB_ROW]
    server = server_of(code.op, row)
    s.times[row, OP_ISSUE_FS] = now
    if server == _NONE:
        begin(code, net, s, job, now)
        return
    enqueue(s, server, job)
    admit(code, net, s, server, now)


@jit
def enqueue(s, server, job):
    """Append to the server's queue."""
    if s.server[server, SERVER_FIRST] == _NONE:
        s.server[server, SERVER_FIRST] = job
    else:
        s.job[s.server[server, SERVER_LAST], JOB_NEXT] = job
    s.server[server, SERVER_LAST] = job


@jit
def admit(code, net, s, server, now):
    """Give free slots to the head of the queue."""
    while s.server[server, SERVER_USED] < s.server[server, SERVER_SLOTS] and s.server[server, SERVER_FIRST] != _NONE:
        job = s.server[server, SERVER_FIRST]
        token = s.job[job, JOB_TOKEN]
        if token == _NONE:
            s.server[server, SERVER_FIRST] = s.job[job, JOB_NEXT]
            s.job[job, JOB_NEXT] = _NONE
        else:
            job = next_token(code, s, server, job, token)
        s.server[server, SERVER_USED] += 1
        s.server[server, SERVER_BUSY_FS] -= now
        begin(code, net, s, job, now)


@jit
def next_token(code, s, server, queued, token):
    """Hand out one token of a queued plan; the plan leaves the queue with its last."""
    plan = s.job[queued, JOB_PLAN]
    first = code.token_start[code.plan_start[plan]]
    row = code.token_start[token]
    s.times[row, OP_ISSUE_FS] = s.times[s.plan[plan, PLAN_ROW], OP_START_FS]
    job = new_job(s, row, code.token_end[token], s.job[queued, JOB_OWNER] + row - first, plan)
    if token + 1 < code.plan_start[plan + 1]:
        s.job[queued, JOB_TOKEN] = token + 1
    else:
        s.server[server, SERVER_FIRST] = s.job[queued, JOB_NEXT]
        free_job(s, queued)
    return job


@jit
def start_plan(code, net, s, row, owner, now):
    """Queue all tokens of a PIPE row's plan on the server on which they begin."""
    plan = code.op[row, 1]
    token = code.plan_start[plan]
    s.plan[plan, PLAN_ROW] = row
    s.plan[plan, PLAN_LEFT] = code.plan_start[plan + 1] - token
    s.times[row, OP_ISSUE_FS] = now
    s.times[row, OP_START_FS] = now
    first = code.token_start[token]
    server = server_of(code.op, first)
    job = new_job(s, first, first, owner, plan)
    s.job[job, JOB_TOKEN] = token
    enqueue(s, server, job)
    admit(code, net, s, server, now)


@jit
def finish(code, net, s, job, now):
    """The job's row is complete: go on to the token's next stage, or count what was waited for."""
    op = code.op
    row = s.job[job, JOB_ROW]
    server = server_of(op, row)
    s.times[row, OP_END_FS] = now
    if row + 1 < s.job[job, JOB_END]:
        s.job[job, JOB_ROW] = row + 1
        s.job[job, JOB_OWNER] += 1
        if server != _NONE and server_of(op, row + 1) == server:
            s.times[row + 1, OP_ISSUE_FS] = now
            begin(code, net, s, job, now)
            return
        release(code, net, s, server, now)
        request(code, net, s, job, now)
        return
    plan = s.job[job, JOB_PLAN]
    counter = op[row, 3] if op[row, 0] == codes.EXEC else op[row, 4]
    free_job(s, job)
    release(code, net, s, server, now)
    if plan != _NONE:
        s.plan[plan, PLAN_LEFT] -= 1
        if s.plan[plan, PLAN_LEFT] > 0:
            return
        row = s.plan[plan, PLAN_ROW]
        s.times[row, OP_END_FS] = now
        counter = op[row, 2]
    if counter != _NONE:
        add(op, s, counter, 1, now)


@jit
def release(code, net, s, server, now):
    """Give a slot back and serve whoever queues for it."""
    if server != _NONE:
        s.server[server, SERVER_USED] -= 1
        s.server[server, SERVER_BUSY_FS] += now
        admit(code, net, s, server, now)


@jit
def add(op, s, counter, amount, now):
    """Add to a counter and wake every thread whose condition now holds; each looks again when its turn comes."""
    s.counter[counter, COUNTER_VALUE] += amount
    thread = s.counter[counter, COUNTER_WAITER]
    kept = _NONE
    while thread != _NONE:
        onward = s.thread[thread, THREAD_NEXT]
        if met(op, s, s.thread[thread, THREAD_CURSOR]):
            schedule(s, now, (codes.WAKE << codes.KIND_SHIFT) | thread, 0, thread)
        else:
            s.thread[thread, THREAD_NEXT] = kept
            kept = thread
        thread = onward
    s.counter[counter, COUNTER_WAITER] = kept


@jit
def met(op, s, row):
    """Whether a WAIT row's condition holds."""
    value = s.counter[op[row, 1], COUNTER_VALUE]
    return value >= op[row, 3] if op[row, 2] == codes.GE else value == op[row, 3]
