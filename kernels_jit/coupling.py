"""Transfers that follow each other on one lease, done in one go: only the last completion is an event.

Each begins when the one before is complete, and lands as long after its start. That holds for the reads of one token, and
from token to token of a plan as long as tokens go on to a line, where what follows from their reads is put down at once. If
the lease ends or the line dissolves, the transfer that is under way is found by time and event key, and what was put down
of later ones is taken back.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.heap import is_over, schedule
from kernels_jit.jobs import free_job, new_job
from kernels_jit.lines import board, clear, fits, take_ahead
from kernels_jit.stages import next_token, server_of, token_start
from kernels_jit.state import (
    DURATIONS,
    EVENTS,
    FLIGHT_COUPLED,
    FLIGHT_FLITS,
    FLIGHT_FROM,
    FLIGHT_JOB,
    FLIGHT_LATEST_FS,
    FLIGHT_OWNER,
    FLIGHT_ROUTE,
    FLIGHT_STAMP,
    FLIGHT_START_FS,
    FLIGHT_STRIPE,
    JOB_END,
    JOB_FREE_N,
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_ROW,
    JOB_TOKEN,
    LEASE_AHEAD,
    LEASE_COLUMNS,
    LEASE_LANDS_FS,
    LEASE_PASSED,
    LEASES,
    MARGIN,
    NEVER,
    OP_END_FS,
    OP_ISSUE_FS,
    OP_START_FS,
    PLAN_COLUMNS,
    PLAN_END,
    PLAN_FIRST,
    PLAN_FLIGHT,
    PLAN_LEFT,
    PLAN_LINE_LAST,
    PLAN_LINE_ROWS,
    PLANS,
    ROUTE_COLUMNS,
    ROUTE_LEAD_FS,
    ROUTE_START,
    ROUTE_TAIL_FS,
    ROUTES,
    SERVER_FIRST,
    SERVER_LAST,
    SERVER_SLOTS,
    STEP_COLUMNS,
    STEP_OVERHEAD_FS,
    STEPS,
    TOKENS_MOST,
)

_NONE = codes.NONE
_DONE = codes.DONE << codes.KIND_SHIFT


@inner
def couple(m, op, times, flight):
    """Do the transfers that come next as well: those of a flight's own job, and of its plan's next tokens."""
    lease = lease_of(m, flight)
    job = m[flight + FLIGHT_JOB]
    m[flight + FLIGHT_FROM] = m[job + JOB_ROW]
    tail_fs = m[m[ROUTES] + m[flight + FLIGHT_ROUTE] * ROUTE_COLUMNS + ROUTE_TAIL_FS]
    tokens = m[lease + LEASE_AHEAD]
    while m[flight + FLIGHT_LATEST_FS] < NEVER:
        row = m[job + JOB_ROW]
        done = m[flight + FLIGHT_LATEST_FS] + tail_fs
        if row + 1 < m[job + JOB_END] and is_like(op, row, row + 1):
            times[row, OP_END_FS] = done
            row += 1
            times[row, OP_ISSUE_FS] = done
        elif tokens > 0 and is_followed(m, op, job, row):
            times[row, OP_END_FS] = done
            tokens -= 1
            job = go_on(m, op, times, flight, job, done)
            row = m[job + JOB_ROW]
        else:
            break
        times[row, OP_START_FS] = done
        m[flight + FLIGHT_COUPLED] += 1
        m[lease + LEASE_PASSED] += m[flight + FLIGHT_FLITS]
        m[EVENTS] += 1
        take_row(m, op, flight, row, done)
        m[flight + FLIGHT_LATEST_FS] = m[flight + FLIGHT_START_FS] + m[lease + LEASE_LANDS_FS]
    m[lease + LEASE_AHEAD] = min(2 * m[lease + LEASE_AHEAD], TOKENS_MOST) if tokens == 0 else 1


@inner
def is_like(op, row, other):
    """Whether two rows are the same transfer, to the same server, and nothing follows from arrivals."""
    return (
        op[other, 0] == codes.MOVE
        and op[other, 1] == op[row, 1]
        and op[other, 2] == op[row, 2]
        and op[other, 5] == op[row, 5]
        and op[row, 6] == _NONE
        and op[other, 6] == _NONE
    )


@inner
def is_followed(m, op, job, row):
    """Whether the next token of a job's plan begins with a row like this one when it is done, and this one then goes on to
    its plan's line and no further."""
    number, server = m[job + JOB_PLAN], server_of(m, op, row)
    if number == _NONE or server == _NONE or m[server + SERVER_SLOTS] > 1 or m[JOB_FREE_N] <= m[MARGIN]:
        return False
    plan = m[PLANS] + number * PLAN_COLUMNS
    rows, queued = m[plan + PLAN_LINE_ROWS], m[server + SERVER_FIRST]
    if rows == 0 or row + 1 + rows != m[job + JOB_END] or not is_of(m, queued, number):
        return False
    first = token_start(m, m[queued + JOB_TOKEN])
    return m[plan + PLAN_LEFT] > 1 and is_like(op, row, first) and fits(m, op, plan, row + 1, m[job + JOB_END])


@inner
def is_of(m, queued, number):
    """Whether the entry of a queue is that of a plan with tokens to hand out."""
    return queued != _NONE and m[queued + JOB_PLAN] == number and m[queued + JOB_TOKEN] >= 0


@inner
def go_on(m, op, times, flight, job, done):
    """A token's reads are done: it boards its plan's line, and the next token has the flight."""
    server = server_of(m, op, m[job + JOB_ROW])
    m[job + JOB_ROW] += 1
    m[job + JOB_OWNER] += 1
    board(m, op, times, job, done)
    m[m[PLANS] + m[job + JOB_PLAN] * PLAN_COLUMNS + PLAN_FLIGHT] = flight
    onward = next_token(m, op, times, server, m[server + SERVER_FIRST])
    m[flight + FLIGHT_JOB] = onward
    return onward


@inner
def uncouple(m, op, times, flight):
    """Of coupled transfers, let the one that is under way be the last: what has been put down of later ones is taken back."""
    if m[flight + FLIGHT_COUPLED] == 0:
        return
    m[flight + FLIGHT_COUPLED] = 0
    tokens, dropped = call_back(m, op, times, flight)
    job, lease = m[flight + FLIGHT_JOB], lease_of(m, flight)
    last = m[job + JOB_ROW]
    row = last
    while row > m[flight + FLIGHT_FROM] and op[row - 1, 0] == codes.MOVE:
        row -= 1
    owner = m[job + JOB_OWNER] - (last - row)
    while row < last and is_over(m, times[row, OP_END_FS], _DONE | owner):
        row += 1
        owner += 1
    for later in range(row + 1, last + 1):
        clear(times, later)
    dropped += last - row
    if dropped == 0:
        return
    if tokens > 0:
        m[lease + LEASE_AHEAD] = 1
    done = times[row, OP_END_FS]
    times[row, OP_END_FS] = _NONE
    m[lease + LEASE_PASSED] -= dropped * m[flight + FLIGHT_FLITS]
    m[EVENTS] -= dropped
    take_row(m, op, flight, row, times[row, OP_START_FS])
    m[flight + FLIGHT_LATEST_FS] = m[flight + FLIGHT_START_FS] + m[lease + LEASE_LANDS_FS]
    m[flight + FLIGHT_STAMP] += 1
    schedule(m, done, _DONE | owner, m[flight + FLIGHT_STAMP], flight)


@inner
def call_back(m, op, times, flight):
    """Let a flight be that of the token whose reads are under way; answers how many tokens and rows come after it."""
    last = m[flight + FLIGHT_JOB]
    number = m[last + JOB_PLAN]
    plan = m[PLANS] + number * PLAN_COLUMNS
    if number == _NONE or m[plan + PLAN_FLIGHT] != flight:
        return 0, 0
    m[plan + PLAN_FLIGHT] = _NONE
    furthest = m[plan + PLAN_LINE_LAST]
    job = take_ahead(m, op, times, plan)
    if job == _NONE:
        return 0, 0
    m[flight + FLIGHT_JOB] = job
    m[furthest + JOB_NEXT] = last
    later, row = m[job + JOB_NEXT], m[job + JOB_END]
    m[job + JOB_NEXT] = _NONE
    tokens, rows = 0, 0
    while later != _NONE:
        onward = m[later + JOB_NEXT]
        tokens += 1
        rows += m[later + JOB_ROW] + 1 - row
        for k in range(row, m[later + JOB_ROW] + 1):
            clear(times, k)
        row = m[later + JOB_END]
        free_job(m, later)
        later = onward
    put_back(m, op, number, job, tokens)
    return tokens, rows


@inner
def put_back(m, op, number, job, tokens):
    """Return tokens that come after that of a job to their plan's entry in a server's queue, of which it is the head."""
    server = server_of(m, op, m[job + JOB_ROW])
    queued = m[server + SERVER_FIRST]
    if is_of(m, queued, number):
        m[queued + JOB_TOKEN] -= tokens
        return
    plan = m[PLANS] + number * PLAN_COLUMNS
    first = token_start(m, m[plan + PLAN_FIRST])
    entry = new_job(m, first, first, m[job + JOB_OWNER] - (m[job + JOB_ROW] - first), number)
    m[entry + JOB_TOKEN] = m[plan + PLAN_END] - tokens
    m[entry + JOB_NEXT] = queued
    m[server + SERVER_FIRST] = entry
    if queued == _NONE:
        m[server + SERVER_LAST] = entry


@inner
def take_row(m, op, flight, row, begun):
    """Let a flight be that of a row of its job that began at a time."""
    job = m[flight + FLIGHT_JOB]
    m[job + JOB_OWNER] += row - m[job + JOB_ROW]
    m[job + JOB_ROW] = row
    m[flight + FLIGHT_OWNER] = m[job + JOB_OWNER]
    m[flight + FLIGHT_STRIPE] = op[row, 3]
    m[flight + FLIGHT_START_FS] = set_out_fs(m, op, row, begun)


@inner
def set_out_fs(m, op, row, begun):
    """When the flits of a row that began at a time stand before their first station."""
    route = m[ROUTES] + op[row, 1] * ROUTE_COLUMNS
    overhead = m[m[STEPS] + m[route + ROUTE_START] * STEP_COLUMNS + STEP_OVERHEAD_FS]
    return begun + m[m[DURATIONS] + op[row, 7]] + m[route + ROUTE_LEAD_FS] + overhead


@inner
def lease_of(m, flight):
    """Where the lease of a flight's route stands."""
    return m[LEASES] + m[flight + FLIGHT_ROUTE] * LEASE_COLUMNS
