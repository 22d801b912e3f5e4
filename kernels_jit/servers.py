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

_NONE = codes.NONE


@jit
def server_of(op, row):
    """The server a stage occupies, or NONE."""
    return op[row, 1] if op[row, 0] == codes.EXEC else op[row, 5]


@jit
def begin(code, net, s, job, now):
    """The job has its slot: start its row."""
    op = code.op
    row = s.job_row[job]
    s.op_start_fs[row] = now
    if op[row, 0] == codes.EXEC:
        end = now + code.duration_fs[op[row, 2]]
        schedule(s, end, (codes.SERVED << codes.KIND_SHIFT) | op[row, 1], s.job_owner[job], job)
    else:
        take_off(code, net, s, job, now)


@jit
def request(code, net, s, job, now):
    """The job asks for its row's server: served at once if a slot is free and nobody queues, else it joins the queue."""
    row = s.job_row[job]
    server = server_of(code.op, row)
    s.op_issue_fs[row] = now
    if server == _NONE:
        begin(code, net, s, job, now)
        return
    enqueue(s, server, job)
    admit(code, net, s, server, now)


@jit
def enqueue(s, server, job):
    """Append to the server's queue."""
    if s.server_first[server] == _NONE:
        s.server_first[server] = job
    else:
        s.job_next[s.server_last[server]] = job
    s.server_last[server] = job


@jit
def admit(code, net, s, server, now):
    """Give free slots to the head of the queue."""
    while s.server_used[server] < s.server_slots[server] and s.server_first[server] != _NONE:
        job = s.server_first[server]
        token = s.job_token[job]
        if token == _NONE:
            s.server_first[server] = s.job_next[job]
            s.job_next[job] = _NONE
        else:
            job = next_token(code, s, server, job, token)
        s.server_used[server] += 1
        s.server_busy_fs[server] -= now
        begin(code, net, s, job, now)


@jit
def next_token(code, s, server, queued, token):
    """Hand out one token of a queued plan; the plan leaves the queue with its last."""
    plan = s.job_plan[queued]
    first = code.token_start[code.plan_start[plan]]
    row = code.token_start[token]
    s.op_issue_fs[row] = s.op_start_fs[s.plan_row[plan]]
    job = new_job(s, row, code.token_end[token], s.job_owner[queued] + row - first, plan)
    if token + 1 < code.plan_start[plan + 1]:
        s.job_token[queued] = token + 1
    else:
        s.server_first[server] = s.job_next[queued]
        free_job(s, queued)
    return job


@jit
def start_plan(code, net, s, row, owner, now):
    """Queue all tokens of a PIPE row's plan on the server on which they begin."""
    plan = code.op[row, 1]
    token = code.plan_start[plan]
    s.plan_row[plan] = row
    s.plan_left[plan] = code.plan_start[plan + 1] - token
    s.op_issue_fs[row] = now
    s.op_start_fs[row] = now
    first = code.token_start[token]
    server = server_of(code.op, first)
    job = new_job(s, first, first, owner, plan)
    s.job_token[job] = token
    enqueue(s, server, job)
    admit(code, net, s, server, now)


@jit
def finish(code, net, s, job, now):
    """The job's row is complete: go on to the token's next stage, or count what was waited for."""
    op = code.op
    row = s.job_row[job]
    server = server_of(op, row)
    s.op_end_fs[row] = now
    if row + 1 < s.job_end[job]:
        s.job_row[job] = row + 1
        s.job_owner[job] += 1
        if server != _NONE and server_of(op, row + 1) == server:
            s.op_issue_fs[row + 1] = now
            begin(code, net, s, job, now)
            return
        release(code, net, s, server, now)
        request(code, net, s, job, now)
        return
    plan = s.job_plan[job]
    counter = op[row, 3] if op[row, 0] == codes.EXEC else op[row, 4]
    free_job(s, job)
    release(code, net, s, server, now)
    if plan != _NONE:
        s.plan_left[plan] -= 1
        if s.plan_left[plan] > 0:
            return
        row = s.plan_row[plan]
        s.op_end_fs[row] = now
        counter = op[row, 2]
    if counter != _NONE:
        add(op, s, counter, 1, now)


@jit
def release(code, net, s, server, now):
    """Give a slot back and serve whoever queues for it."""
    if server != _NONE:
        s.server_used[server] -= 1
        s.server_busy_fs[server] += now
        admit(code, net, s, server, now)


@jit
def add(op, s, counter, amount, now):
    """Add to a counter and wake every thread whose condition now holds; each looks again when its turn comes."""
    s.counter_value[counter] += amount
    thread = s.counter_waiter[counter]
    kept = _NONE
    while thread != _NONE:
        onward = s.thread_next[thread]
        if met(op, s, s.thread_cursor[thread]):
            schedule(s, now, (codes.WAKE << codes.KIND_SHIFT) | thread, 0, thread)
        else:
            s.thread_next[thread] = kept
            kept = thread
        thread = onward
    s.counter_waiter[counter] = kept


@jit
def met(op, s, row):
    """Whether a WAIT row's condition holds."""
    value = s.counter_value[op[row, 1]]
    return value >= op[row, 3] if op[row, 2] == codes.GE else value == op[row, 3]
