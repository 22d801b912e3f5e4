"""Queues of jobs at servers, and the tokens that plans hand out: what all who move jobs on have in common."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.jobs import free_job, new_job
from kernels_jit.prefetch import prefetch
from kernels_jit.state import (
    JOB_NEXT,
    JOB_OWNER,
    JOB_PLAN,
    JOB_TOKEN,
    OP_ISSUE_FS,
    OP_START_FS,
    PLAN_COLUMNS,
    PLAN_END,
    PLAN_FIRST,
    PLAN_ROW,
    PLANS,
    SERVER_COLUMNS,
    SERVER_FIRST,
    SERVER_LAST,
    SERVERS,
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
def enqueue(m, server, job):
    """Append to the server's queue."""
    if m[server + SERVER_FIRST] == _NONE:
        m[server + SERVER_FIRST] = job
    else:
        m[m[server + SERVER_LAST] + JOB_NEXT] = job
    m[server + SERVER_LAST] = job


@inner
def token_start(m, token):
    """The row with which a token begins."""
    return m[m[TOKENS] + token * TOKEN_COLUMNS + TOKEN_START]


@inner
def next_token(m, op, times, server, queued):
    """Hand out one token of a queued plan; the plan leaves the queue with its last."""
    number, token = m[queued + JOB_PLAN], m[queued + JOB_TOKEN]
    plan = m[PLANS] + number * PLAN_COLUMNS
    first = token_start(m, m[plan + PLAN_FIRST])
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
