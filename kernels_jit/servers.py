"""Jobs on servers: asking for a slot, being served, walking a tile plan's stages, giving the slot back.

A job is one row being done on behalf of a thread, or one token of a plan walking its rows. A plan whose tokens still
queue is a single entry of its first server's queue that hands out one token after the other.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.flights import take_off
from kernels_jit.heap import schedule
from kernels_jit.jobs import free_job, new_job
from kernels_jit.prefetch import prefetch
from kernels_jit.state import (
    COUNTER_COLUMNS,
    COUNTER_VALUE,
    COUNTER_WAITER,
    COUNTERS,
    DURATIONS,
    JOB_END,
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    JOB_TOKEN,
    OP_END_FS,
    OP_ISSUE_FS,
    OP_START_FS,
    PLAN_COLUMNS,
    PLAN_END,
    PLAN_FIRST,
    PLAN_LEFT,
    PLAN_ROW,
    PLANS,
    SERVER_BUSY_FS,
    SERVER_COLUMNS,
    SERVER_FIRST,
    SERVER_LAST,
    SERVER_SLOTS,
    SERVER_USED,
    SERVERS,
    THREAD_COLUMNS,
    THREAD_CURSOR,
    THREAD_NEXT,
    THREADS,
    TOKEN_COLUMNS,
    TOKEN_END,
    TOKEN_START,
    TOKENS,
)

_NONE = codes.NONE


@inner
def server_of(m, op, row):
    """The server a stage occupies, or NONE."""
    number = op[row, 1] if op[row, 0] == codes.EXEC else op[row, 5]
    return _NONE if number == _NONE else m[SERVERS] + number * SERVER_COLUMNS


@inner
def begin(m, op, times, job, now):
    """The job has its slot: start its row."""
    row = m[job + JOB_ROW]
    times[row, OP_START_FS] = now
    if op[row, 0] == codes.EXEC:
        end = now + m[m[DURATIONS] + op[row, 2]]
        schedule(m, end, (codes.SERVED << codes.KIND_SHIFT) | op[row, 1], m[job + JOB_OWNER], job)
    else:
        take_off(m, op, times, job, now)


@inner
def request(m, op, times, job, now):
    """The job asks for its row's server: served at once if a slot is free and nobody queues, else it joins the queue."""
    row = m[job + JOB_ROW]
    server = server_of(m, op, row)
    times[row, OP_ISSUE_FS] = now
    if server == _NONE:
        begin(m, op, times, job, now)
        return
    enqueue(m, server, job)
    admit(m, op, times, server, now)


@inner
def enqueue(m, server, job):
    """Append to the server's queue."""
    if m[server + SERVER_FIRST] == _NONE:
        m[server + SERVER_FIRST] = job
    else:
        m[m[server + SERVER_LAST] + JOB_NEXT] = job
    m[server + SERVER_LAST] = job


@inner
def admit(m, op, times, server, now):
    """Give free slots to the head of the queue."""
    while m[server + SERVER_USED] < m[server + SERVER_SLOTS] and m[server + SERVER_FIRST] != _NONE:
        job = m[server + SERVER_FIRST]
        if m[job + JOB_TOKEN] == _NONE:
            m[server + SERVER_FIRST] = m[job + JOB_NEXT]
            m[job + JOB_NEXT] = _NONE
        else:
            job = next_token(m, op, times, server, job)
        m[server + SERVER_USED] += 1
        m[server + SERVER_BUSY_FS] -= now
        begin(m, op, times, job, now)


@inner
def next_token(m, op, times, server, queued):
    """Hand out one token of a queued plan; the plan leaves the queue with its last."""
    number, token = m[queued + JOB_PLAN], m[queued + JOB_TOKEN]
    plan = m[PLANS] + number * PLAN_COLUMNS
    first = m[m[TOKENS] + m[plan + PLAN_FIRST] * TOKEN_COLUMNS + TOKEN_START]
    at = m[TOKENS] + token * TOKEN_COLUMNS
    row = m[at + TOKEN_START]
    times[row, OP_ISSUE_FS] = times[m[plan + PLAN_ROW], OP_START_FS]
    job = new_job(m, row, m[at + TOKEN_END], m[queued + JOB_OWNER] + row - first, number)
    if token + 1 < m[plan + PLAN_END]:
        m[queued + JOB_TOKEN] = token + 1
        for later in range(m[at + TOKEN_COLUMNS + TOKEN_START], m[at + TOKEN_COLUMNS + TOKEN_END]):
            prefetch(op, later)
            prefetch(times, later)
    else:
        m[server + SERVER_FIRST] = m[queued + JOB_NEXT]
        free_job(m, queued)
    return job


@inner
def start_plan(m, op, times, row, owner, now):
    """Queue all tokens of a PIPE row's plan on the server on which they begin; answers how many rows they have."""
    plan = m[PLANS] + op[row, 1] * PLAN_COLUMNS
    token, end = m[plan + PLAN_FIRST], m[plan + PLAN_END]
    m[plan + PLAN_ROW] = row
    m[plan + PLAN_LEFT] = end - token
    times[row, OP_ISSUE_FS] = now
    times[row, OP_START_FS] = now
    first = m[m[TOKENS] + token * TOKEN_COLUMNS + TOKEN_START]
    server = server_of(m, op, first)
    job = new_job(m, first, first, owner, op[row, 1])
    m[job + JOB_TOKEN] = token
    enqueue(m, server, job)
    admit(m, op, times, server, now)
    return m[m[TOKENS] + (end - 1) * TOKEN_COLUMNS + TOKEN_END] - first


@inner
def finish(m, op, times, job, now):
    """The job's row is complete: go on to the token's next stage, or count what was waited for."""
    row = m[job + JOB_ROW]
    server = server_of(m, op, row)
    times[row, OP_END_FS] = now
    if row + 1 < m[job + JOB_END]:
        m[job + JOB_ROW] = row + 1
        m[job + JOB_OWNER] += 1
        if server != _NONE and server_of(m, op, row + 1) == server:
            times[row + 1, OP_ISSUE_FS] = now
            begin(m, op, times, job, now)
            return
        release(m, op, times, server, now)
        request(m, op, times, job, now)
        return
    number = m[job + JOB_PLAN]
    counter = op[row, 3] if op[row, 0] == codes.EXEC else op[row, 4]
    free_job(m, job)
    release(m, op, times, server, now)
    if number != _NONE:
        plan = m[PLANS] + number * PLAN_COLUMNS
        m[plan + PLAN_LEFT] -= 1
        if m[plan + PLAN_LEFT] > 0:
            return
        row = m[plan + PLAN_ROW]
        times[row, OP_END_FS] = now
        counter = op[row, 2]
    if counter != _NONE:
        add(m, op, counter, 1, now)


@inner
def release(m, op, times, server, now):
    """Give a slot back and serve whoever queues for it."""
    if server != _NONE:
        m[server + SERVER_USED] -= 1
        m[server + SERVER_BUSY_FS] += now
        admit(m, op, times, server, now)


@inner
def add(m, op, number, amount, now):
    """Add to a counter and wake every thread whose condition now holds; each looks again when its turn comes."""
    counter = m[COUNTERS] + number * COUNTER_COLUMNS
    m[counter + COUNTER_VALUE] += amount
    thread = m[counter + COUNTER_WAITER]
    kept = _NONE
    while thread != _NONE:
        at = m[THREADS] + thread * THREAD_COLUMNS
        onward = m[at + THREAD_NEXT]
        if met(m, op, m[at + THREAD_CURSOR]):
            schedule(m, now, (codes.WAKE << codes.KIND_SHIFT) | thread, 0, thread)
        else:
            m[at + THREAD_NEXT] = kept
            kept = thread
        thread = onward
    m[counter + COUNTER_WAITER] = kept


@inner
def met(m, op, row):
    """Whether a WAIT row's condition holds."""
    value = m[m[COUNTERS] + op[row, 1] * COUNTER_COLUMNS + COUNTER_VALUE]
    return value >= op[row, 3] if op[row, 2] == codes.GE else value == op[row, 3]
