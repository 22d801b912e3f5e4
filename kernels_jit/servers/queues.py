"""Queues of jobs at servers, and the tokens that plans hand out."""

from __future__ import annotations

from kernels_jit.compile.jit import inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    SERVER_WORDS,
    TIME_WORDS,
    exec_at,
    job_at,
    move_at,
    plan_at,
    state_at,
    time_at,
    token_at,
)
from kernels_jit.servers.jobs import free_job, new_job

_NONE = codes.NONE


@inner
def server_of(m, op, row):
    """The place of the server that a row occupies, or NONE."""
    stage = exec_at(op, row)
    number = stage.server if stage.code == codes.EXEC else move_at(op, row).hold
    return _NONE if number == _NONE else state_at(m, 0).servers + number * SERVER_WORDS


@inner
def enqueue(m, server, place):
    """Append a job to a server's queue."""
    if server.first == _NONE:
        server.first = place
    else:
        job_at(m, server.last).next = place
    server.last = place


@inner
def first_row(m, plan):
    """The row with which a plan's first token begins."""
    return token_at(m, plan.first).start


@inner
def next_token(m, times, server, queued_place):
    """Hand out one token of a queued plan and return its job's place. The plan leaves the queue with its last token."""
    queued = job_at(m, queued_place)
    number, token = queued.plan, queued.token
    plan = plan_at(m, number)
    rows = token_at(m, token)
    time_at(times, rows.start).issue_fs = time_at(times, plan.row).start_fs
    # Owners count rows of the plan, so ties do not depend on when a token is handed out.
    place = new_job(m, rows.start, rows.end, queued.owner + rows.start - first_row(m, plan), number)
    if token + 1 < plan.end:
        queued.token = token + 1
        later = token_at(m, token + 1)
        for row in range(later.start, later.end):
            prefetch(times, row * TIME_WORDS)
    else:
        server.first = queued.next
        free_job(m, queued_place)
    return place
