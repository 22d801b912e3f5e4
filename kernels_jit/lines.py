"""Lines: servers that the tokens of one plan pass one behind the other, where all times are known beforehand.

A token of a plan often goes from server to server, each of one slot and used by nobody else. Then it begins at the next
when it has left the one before and the token ahead has left that: a maximum and a sum, and not an event for each stage. So
when a token asks for the first server of such a line the times of all its stages there are put down at once. Only a token
with other stages behind the line, and the one with which the plan ends, become an event, at the end of the line. As soon as
anybody else asks for one of the servers the line is dissolved: jobs, queues and events are what they would have been.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.heap import is_over, is_past, schedule
from kernels_jit.jobs import free_job, name_job
from kernels_jit.stages import enqueue, server_of, token_start
from kernels_jit.state import (
    DURATIONS,
    EVENTS,
    JOB_END,
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    JOB_STAMP,
    JOB_STAMPS,
    JOB_TOKEN,
    LINE_MOST,
    NEVER,
    NOW,
    OP_END_FS,
    OP_ISSUE_FS,
    OP_START_FS,
    PLAN_COLUMNS,
    PLAN_FIRST,
    PLAN_LEFT,
    PLAN_LINE_FIRST,
    PLAN_LINE_LAST,
    PLAN_LINE_ROW,
    PLAN_LINE_ROWS,
    PLANS,
    SERVER_BUSY_FS,
    SERVER_FIRST,
    SERVER_LINE,
    SERVER_READY_FS,
    SERVER_SLOTS,
    SERVER_USED,
    TOKEN_AWAITED,
    TOKEN_ON_LINE,
)

_NONE = codes.NONE
_DONE, _SERVED = codes.DONE << codes.KIND_SHIFT, codes.SERVED << codes.KIND_SHIFT


@inner
def board(m, op, times, job, now):
    """Whether a token that asks for its row's server is on a line from there on; if so its times there are put down."""
    number, row = m[job + JOB_PLAN], m[job + JOB_ROW]
    plan = m[PLANS] + number * PLAN_COLUMNS
    if m[server_of(m, op, row) + SERVER_LINE] == number:
        if not fits(m, op, plan, row, m[job + JOB_END]):
            return False
    elif not form(m, op, number, row, m[job + JOB_END], now):
        return False
    forget_past(m, times, plan)
    end = row + m[plan + PLAN_LINE_ROWS]
    put_down(m, op, times, row, end, now)
    if m[plan + PLAN_LINE_FIRST] == _NONE:
        m[plan + PLAN_LINE_FIRST] = job
    else:
        m[m[plan + PLAN_LINE_LAST] + JOB_NEXT] = job
    m[plan + PLAN_LINE_LAST] = job
    m[job + JOB_TOKEN] = TOKEN_ON_LINE
    if end == m[job + JOB_END] and m[plan + PLAN_LEFT] > 1:
        m[plan + PLAN_LEFT] -= 1
    else:
        await_end(m, op, times, plan, job)
    return True


@inner
def await_end(m, op, times, plan, job):
    """Let a token's coming to the end of its line be an event."""
    last = m[job + JOB_ROW] + m[plan + PLAN_LINE_ROWS] - 1
    owner = m[job + JOB_OWNER] + m[plan + PLAN_LINE_ROWS] - 1
    m[job + JOB_TOKEN] = TOKEN_AWAITED
    m[EVENTS] -= 1
    schedule(m, times[last, OP_END_FS], _SERVED | op[last, 1], owner, name_job(m, job))


@inner
def form(m, op, number, row, end, now):
    """Whether a plan has servers to itself from a row of a token on: those are a line then."""
    plan = m[PLANS] + number * PLAN_COLUMNS
    if m[plan + PLAN_LINE_ROWS] != 0:
        return False
    first = server_of(m, op, token_start(m, m[plan + PLAN_FIRST]))
    rows, before = 0, _NONE
    while row + rows < end and rows < LINE_MOST and is_stage(m, op, row + rows):
        server = server_of(m, op, row + rows)
        if server != before:
            if server == first or not is_unused(m, server) or is_among(op, row, row + rows, op[row + rows, 1]):
                break
            before = server
        rows += 1
    if rows == 0 or goes_on(m, op, row + rows, end, before):
        return False
    m[plan + PLAN_LINE_ROW], m[plan + PLAN_LINE_ROWS] = row, rows
    for k in range(row, row + rows):
        server = server_of(m, op, k)
        m[server + SERVER_LINE], m[server + SERVER_READY_FS] = number, now
    return True


@inner
def is_stage(m, op, row):
    """Whether a row is work on a server that takes time: what ends at its very instant may be taken for past."""
    return op[row, 0] == codes.EXEC and m[m[DURATIONS] + op[row, 2]] > 0


@inner
def is_unused(m, server):
    """Whether a server of one slot has no job and is in no line."""
    return (
        m[server + SERVER_SLOTS] == 1
        and m[server + SERVER_USED] == 0
        and m[server + SERVER_FIRST] == _NONE
        and m[server + SERVER_LINE] == _NONE
    )


@inner
def is_among(op, row, end, server):
    """Whether a stage among rows [row, end) is on a server of that number."""
    while row < end and op[row, 1] != server:
        row += 1
    return row < end


@inner
def goes_on(m, op, row, end, server):
    """Whether a token stays on a server for a row: it does not leave it in between."""
    return row < end and server_of(m, op, row) == server


@inner
def fits(m, op, plan, row, end):
    """Whether a token's rows from `row` on are on the servers of its plan's line."""
    first, rows = m[plan + PLAN_LINE_ROW], m[plan + PLAN_LINE_ROWS]
    if row + rows > end:
        return False
    for k in range(rows):
        if op[row + k, 1] != op[first + k, 1] or not is_stage(m, op, row + k):
            return False
    return not goes_on(m, op, row + rows, end, server_of(m, op, row + rows - 1))


@inner
def put_down(m, op, times, row, end, now):
    """The times of rows [row, end) of a line for a token that comes to its first server now."""
    before = _NONE
    for k in range(row, end):
        server = server_of(m, op, k)
        start = now if server == before else max(now, m[server + SERVER_READY_FS])
        times[k, OP_ISSUE_FS], times[k, OP_START_FS] = now, start
        now = min(start + m[m[DURATIONS] + op[k, 2]], NEVER)
        times[k, OP_END_FS] = now
        m[server + SERVER_READY_FS] = now
        m[server + SERVER_BUSY_FS] += now - start
        before = server
    m[EVENTS] += end - row


@inner
def forget_past(m, times, plan):
    """Free the jobs at the head of a line that have come to its end and become no event."""
    while m[plan + PLAN_LINE_FIRST] != _NONE:
        job = m[plan + PLAN_LINE_FIRST]
        last = m[job + JOB_ROW] + m[plan + PLAN_LINE_ROWS] - 1
        if m[job + JOB_TOKEN] == TOKEN_AWAITED or times[last, OP_END_FS] >= m[NOW]:
            break
        m[plan + PLAN_LINE_FIRST] = m[job + JOB_NEXT]
        free_job(m, job)


@inner
def leave(m, job):
    """A token has come to the end of its line, and stands at its last row there; those ahead of it have as well."""
    plan = m[PLANS] + m[job + JOB_PLAN] * PLAN_COLUMNS
    while m[plan + PLAN_LINE_FIRST] != job:
        ahead = m[plan + PLAN_LINE_FIRST]
        m[plan + PLAN_LINE_FIRST] = m[ahead + JOB_NEXT]
        free_job(m, ahead)
    m[plan + PLAN_LINE_FIRST] = m[job + JOB_NEXT]
    m[job + JOB_NEXT] = _NONE
    m[job + JOB_TOKEN] = _NONE
    m[job + JOB_ROW] += m[plan + PLAN_LINE_ROWS] - 1
    m[job + JOB_OWNER] += m[plan + PLAN_LINE_ROWS] - 1


@inner
def await_last(m, op, times, plan):
    """Whether tokens of a plan whose others are complete are still on its line: the end of the last becomes an event."""
    if m[plan + PLAN_LINE_FIRST] == _NONE:
        return False
    job = m[plan + PLAN_LINE_LAST]
    last = m[job + JOB_ROW] + m[plan + PLAN_LINE_ROWS] - 1
    if is_past(m, times[last, OP_END_FS], _SERVED | op[last, 1]):
        return False
    m[plan + PLAN_LEFT] = 1
    await_end(m, op, times, plan, job)
    return True


@inner
def dissolve(m, op, times, number):
    """A plan's servers are not its own any longer: its tokens go on from where they are, stage by stage."""
    plan = m[PLANS] + number * PLAN_COLUMNS
    rows = m[plan + PLAN_LINE_ROWS]
    for k in range(m[plan + PLAN_LINE_ROW], m[plan + PLAN_LINE_ROW] + rows):
        m[server_of(m, op, k) + SERVER_LINE] = _NONE
    job = m[plan + PLAN_LINE_FIRST]
    m[plan + PLAN_LINE_FIRST], m[plan + PLAN_LINE_ROWS] = _NONE, 0
    while job != _NONE:
        onward = m[job + JOB_NEXT]
        m[job + JOB_NEXT] = _NONE
        end = m[job + JOB_ROW] + rows
        while m[job + JOB_ROW] < end:
            row = m[job + JOB_ROW]
            if not is_past(m, times[row, OP_END_FS], _SERVED | op[row, 1]):
                break
            m[job + JOB_ROW] += 1
            m[job + JOB_OWNER] += 1
        if m[job + JOB_ROW] == end:
            free_job(m, job)
        else:
            stay(m, op, times, plan, job, end)
        job = onward


@inner
def stay(m, op, times, plan, job, end):
    """Let a job of a line that dissolves be served at its row, or queue for it; take back what was put down further on."""
    row = m[job + JOB_ROW]
    server = server_of(m, op, row)
    m[EVENTS] -= 1
    if m[job + JOB_TOKEN] == TOKEN_AWAITED:
        m[EVENTS] += 1
    else:
        m[plan + PLAN_LEFT] += 1
    m[job + JOB_TOKEN] = _NONE
    m[job + JOB_STAMP] = (m[job + JOB_STAMP] + 1) & JOB_STAMPS
    take_back(m, op, times, row + 1, end)
    done = times[row, OP_END_FS]
    times[row, OP_END_FS] = _NONE
    if m[server + SERVER_USED] == 0:
        m[server + SERVER_USED] = 1
        m[server + SERVER_BUSY_FS] -= done
        schedule(m, done, _SERVED | op[row, 1], m[job + JOB_OWNER], name_job(m, job))
    else:
        m[server + SERVER_BUSY_FS] -= done - times[row, OP_START_FS]
        times[row, OP_START_FS] = _NONE
        enqueue(m, server, job)


@inner
def take_ahead(m, op, times, plan):
    """Take the jobs from the end of a plan's line that have not come to it yet; answers the first of them, or NONE.

    They stand at the row before the line again.
    """
    rows, before = m[plan + PLAN_LINE_ROWS], _NONE
    job = m[plan + PLAN_LINE_FIRST]
    while job != _NONE and has_come(m, op, times, job):
        before, job = job, m[job + JOB_NEXT]
    if job == _NONE:
        return job
    if before == _NONE:
        m[plan + PLAN_LINE_FIRST] = _NONE
    else:
        m[before + JOB_NEXT] = _NONE
        m[plan + PLAN_LINE_LAST] = before
    for k in range(rows):
        server = server_of(m, op, m[job + JOB_ROW] + k)
        m[server + SERVER_READY_FS] = m[NOW] if before == _NONE else times[m[before + JOB_ROW] + k, OP_END_FS]
    ahead = job
    while ahead != _NONE:
        take_back(m, op, times, m[ahead + JOB_ROW], m[ahead + JOB_ROW] + rows)
        m[ahead + JOB_TOKEN] = _NONE
        m[ahead + JOB_ROW] -= 1
        m[ahead + JOB_OWNER] -= 1
        m[plan + PLAN_LEFT] += 1
        ahead = m[ahead + JOB_NEXT]
    return job


@inner
def has_come(m, op, times, job):
    """Whether a job of a line has really come to it, and is not one whose coming is only foreseen."""
    row = m[job + JOB_ROW]
    key = _SERVED | op[row - 1, 1] if op[row - 1, 0] == codes.EXEC else _DONE | (m[job + JOB_OWNER] - 1)
    return is_over(m, times[row, OP_ISSUE_FS], key)


@inner
def take_back(m, op, times, row, end):
    """Rows [row, end) of a line have not been asked for."""
    for k in range(row, end):
        m[server_of(m, op, k) + SERVER_BUSY_FS] -= times[k, OP_END_FS] - times[k, OP_START_FS]
        clear(times, k)
    m[EVENTS] -= end - row


@inner
def clear(times, row):
    """A row has not begun, nor is it asked for."""
    times[row, OP_ISSUE_FS], times[row, OP_START_FS], times[row, OP_END_FS] = _NONE, _NONE, _NONE
