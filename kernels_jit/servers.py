"""Jobs on servers: asking for a slot, being served, walking a tile plan's stages, giving the slot back.

A job is one row being done on behalf of a thread, or one token of a plan walking its rows. A plan whose tokens still
queue is a single entry of its first server's queue that hands out one token after the other.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.coupling import uncouple
from kernels_jit.flights import take_off
from kernels_jit.heap import schedule
from kernels_jit.jobs import free_job, name_job, new_job
from kernels_jit.lines import await_last, board, dissolve, leave
from kernels_jit.stages import enqueue, next_token, server_of, token_start
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
    PLAN_FLIGHT,
    PLAN_LEFT,
    PLAN_ROW,
    PLANS,
    SERVER_BUSY_FS,
    SERVER_FIRST,
    SERVER_LINE,
    SERVER_SLOTS,
    SERVER_USED,
    THREAD_COLUMNS,
    THREAD_CURSOR,
    THREAD_NEXT,
    THREADS,
    TOKEN_AWAITED,
    TOKEN_COLUMNS,
    TOKEN_END,
    TOKENS,
)

_NONE = codes.NONE


@inner
def begin(m, op, times, job, now):
    """The job has its slot: start its row."""
    row = m[job + JOB_ROW]
    times[row, OP_START_FS] = now
    if op[row, 0] == codes.EXEC:
        end = now + m[m[DURATIONS] + op[row, 2]]
        schedule(m, end, (codes.SERVED << codes.KIND_SHIFT) | op[row, 1], m[job + JOB_OWNER], name_job(m, job))
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
    if m[job + JOB_PLAN] != _NONE and board(m, op, times, job, now):
        return
    join(m, op, times, server, job, now)


@inner
def join(m, op, times, server, job, now):
    """Come to the end of a server's queue, which is in no line any longer."""
    number = m[server + SERVER_LINE]
    if number != _NONE:
        flight = m[m[PLANS] + number * PLAN_COLUMNS + PLAN_FLIGHT]
        if flight != _NONE:
            uncouple(m, op, times, flight)
        dissolve(m, op, times, number)
    enqueue(m, server, job)
    admit(m, op, times, server, now)


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
def start_plan(m, op, times, row, owner, now):
    """Queue all tokens of a PIPE row's plan on the server on which they begin; answers how many rows they have."""
    plan = m[PLANS] + op[row, 1] * PLAN_COLUMNS
    token, end = m[plan + PLAN_FIRST], m[plan + PLAN_END]
    m[plan + PLAN_ROW] = row
    m[plan + PLAN_LEFT] = end - token
    times[row, OP_ISSUE_FS] = now
    times[row, OP_START_FS] = now
    first = token_start(m, token)
    server = server_of(m, op, first)
    job = new_job(m, first, first, owner, op[row, 1])
    m[job + JOB_TOKEN] = token
    join(m, op, times, server, job, now)
    return m[m[TOKENS] + (end - 1) * TOKEN_COLUMNS + TOKEN_END] - first


@inner
def finish(m, op, times, job, now):
    """The job's row is complete: go on to the token's next stage, or count what was waited for."""
    on_line = m[job + JOB_TOKEN] == TOKEN_AWAITED
    if on_line:
        leave(m, job)
    row = m[job + JOB_ROW]
    server = _NONE if on_line else server_of(m, op, row)
    times[row, OP_END_FS] = now
    if row + 1 < m[job + JOB_END]:
        m[job + JOB_ROW] = row + 1
        m[job + JOB_OWNER] += 1
        if server != _NONE and server_of(m, op, row + 1) == server:
            times[row + 1, OP_ISSUE_FS] = now
            begin(m, op, times, job, now)
            return
        request(m, op, times, job, now)
        release(m, op, times, server, now)
        return
    number = m[job + JOB_PLAN]
    counter = op[row, 3] if op[row, 0] == codes.EXEC else op[row, 4]
    free_job(m, job)
    release(m, op, times, server, now)
    if number != _NONE:
        plan = m[PLANS] + number * PLAN_COLUMNS
        m[plan + PLAN_LEFT] -= 1
        if m[plan + PLAN_LEFT] > 0 or await_last(m, op, times, plan):
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
