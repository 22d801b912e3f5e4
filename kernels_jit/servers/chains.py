"""Server chains: when one plan alone uses a sequence of servers, compute all stage times of its tokens at once.

A token of a plan often goes from server to server, each of one slot and used by nobody else. Then it begins at the next
when it has left the one before and the token ahead has left that: a maximum and a sum, and not an event for each stage. So
when a token asks for the first server of such a chain the times of all its stages there are written at once. Only a token
with other stages behind the chain, and the one with which the plan ends, become an event, at the end of the chain. As soon as
another job asks for one of the servers the chain is broken: jobs, queues and events are what they would have been.

    queued ── enter_chain ──► in chain (AWAITED if its exit is an event) ── exit_chain ──► at its next stage
       ▲                          │                                      └ free_finished ──► free
       └──── break_chain ─────────┘  served or queued at the server where it is by then
"""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    duration_at,
    exec_at,
    job_at,
    plan_at,
    server_at,
    state_at,
    time_at,
)
from kernels_jit.layout.records import AWAITED, CHAIN_MOST, JOB_STAMPS, NEVER
from kernels_jit.loop.event_heap import is_over, is_past, schedule
from kernels_jit.servers.jobs import free_job, name_job
from kernels_jit.servers.queues import enqueue, server_of

_NONE = codes.NONE
_DONE, _SERVED = codes.DONE << codes.KIND_SHIFT, codes.SERVED << codes.KIND_SHIFT


@inner
def enter_chain(m, op, times, place, now):
    """Whether a token that asks for its row's server is in a chain from there on; if so its times there are written."""
    job, state = job_at(m, place), state_at(m, 0)
    number, row = job.plan, job.row
    plan = plan_at(m, number)
    if server_at(m, server_of(m, op, row)).chain == number:
        if not fits(m, op, plan, row, job.end):
            return False
    elif not form_chain(m, op, number, row, job.end, now):
        return False
    if CHECKED:
        if plan.chain_first != _NONE:
            last_fs = time_at(times, job_at(m, plan.chain_last).row).issue_fs
            assert last_fs <= now, "a token enters a chain before one that is in it"
    free_finished(m, times, plan)
    end = row + plan.chain_rows
    write_times(m, op, times, row, end, now)
    if plan.chain_first == _NONE:
        plan.chain_first = place
    else:
        job_at(m, plan.chain_last).next = place
    plan.chain_last = place
    state.chained += 1
    if end == job.end and plan.left > 1:
        plan.left -= 1
    else:
        await_exit(m, op, times, plan, place)
    return True


@inner
def await_exit(m, op, times, plan, place):
    """Let a token's exit from its chain be an event."""
    job, state = job_at(m, place), state_at(m, 0)
    last = last_row(job, plan)
    owner = job.owner + plan.chain_rows - 1
    job.token = AWAITED
    state.events -= 1
    schedule(m, time_at(times, last).end_fs, _SERVED | exec_at(op, last).server, owner, name_job(m, place))


@inner
def last_row(job, plan):
    """The last row in its plan's chain of a job at the first."""
    return job.row + plan.chain_rows - 1


@inner
def form_chain(m, op, number, row, end, now):
    """Whether a plan has servers to itself from a row of a token on: those are a chain then."""
    plan = plan_at(m, number)
    if plan.chain_rows != 0:
        return False
    rows, before = 0, _NONE
    while row + rows < end and rows < CHAIN_MOST and is_stage(m, op, row + rows):
        place = server_of(m, op, row + rows)
        if place != before:
            if not is_unused(server_at(m, place)) or is_repeated(op, row, row + rows):
                break
            before = place
        rows += 1
    if rows == 0 or stays_at(m, op, row + rows, end, before):
        return False
    plan.chain_row, plan.chain_rows = row, rows
    for k in range(row, row + rows):
        server = server_at(m, server_of(m, op, k))
        server.chain, server.ready_fs = number, now
    return True


@inner
def is_stage(m, op, row):
    """Whether a row is work on a server that takes time: what ends at its very instant may be taken for past."""
    stage = exec_at(op, row)
    return stage.code == codes.EXEC and duration_at(m, stage.duration).fs > 0


@inner
def is_unused(server):
    """Whether a server of one slot has no job and is in no chain."""
    return server.slots == 1 and server.used == 0 and server.chain == _NONE


@inner
def is_repeated(op, first, row):
    """Whether a stage among rows [first, row) is on the server of a row."""
    while exec_at(op, first).server != exec_at(op, row).server:
        first += 1
    return first < row


@inner
def stays_at(m, op, row, end, place):
    """Whether a token stays on a server for a row: it does not leave it in between."""
    return row < end and server_of(m, op, row) == place


@inner
def fits(m, op, plan, row, end):
    """Whether a token's rows from `row` on are on the servers of its plan's chain."""
    rows = plan.chain_rows
    if row + rows > end:
        return False
    for k in range(rows):
        if exec_at(op, row + k).server != exec_at(op, plan.chain_row + k).server or not is_stage(m, op, row + k):
            return False
    return not stays_at(m, op, row + rows, end, server_of(m, op, row + rows - 1))


@inner
def write_times(m, op, times, row, end, now):
    """The times of rows [row, end) of a chain for a token that comes to its first server now."""
    for k in range(row, end):
        server, time = server_at(m, server_of(m, op, k)), time_at(times, k)
        if CHECKED:
            assert server.used == 0, "a server of a chain serves a job of its own"
            assert server.first == _NONE, "a job queues for a server of a chain"
        start = max(now, server.ready_fs)
        time.issue_fs, time.start_fs = now, start
        now = min(start + duration_at(m, exec_at(op, k).duration).fs, NEVER)
        time.end_fs = now
        server.ready_fs = now
        server.busy_fs += now - start
    state_at(m, 0).events += end - row


@inner
def free_finished(m, times, plan):
    """Free the jobs at the head of a chain that have come to its end and become no event."""
    while plan.chain_first != _NONE:
        place = plan.chain_first
        job = job_at(m, place)
        if time_at(times, last_row(job, plan)).end_fs >= state_at(m, 0).now_fs:
            break
        plan.chain_first = job.next
        free_job(m, place)


@inner
def exit_chain(m, place):
    """A token has come to the end of its chain, and stands at its last row there; those ahead of it have as well."""
    job = job_at(m, place)
    plan = plan_at(m, job.plan)
    while plan.chain_first != place:
        ahead = plan.chain_first
        plan.chain_first = job_at(m, ahead).next
        free_job(m, ahead)
    plan.chain_first = job.next
    job.next = _NONE
    job.token = _NONE
    job.row += plan.chain_rows - 1
    job.owner += plan.chain_rows - 1


@inner
def await_last(m, op, times, plan):
    """Whether tokens of a plan whose others are complete are still in its chain: the exit of the last becomes an event."""
    if plan.chain_first == _NONE:
        return False
    last = last_row(job_at(m, plan.chain_last), plan)
    if is_past(m, time_at(times, last).end_fs, _SERVED | exec_at(op, last).server):
        return False
    plan.left = 1
    await_exit(m, op, times, plan, plan.chain_last)
    return True


@inner
def break_chain(m, op, times, number):
    """A plan's servers are not its own any longer: its tokens go on from where they are, stage by stage."""
    plan, state = plan_at(m, number), state_at(m, 0)
    rows = plan.chain_rows
    for k in range(plan.chain_row, plan.chain_row + rows):
        server_at(m, server_of(m, op, k)).chain = _NONE
    state.broken += 1
    place = plan.chain_first
    plan.chain_first, plan.chain_rows = _NONE, 0
    while place != _NONE:
        job = job_at(m, place)
        onward = job.next
        job.next = _NONE
        end = job.row + rows
        while job.row < end:
            if not is_past(m, time_at(times, job.row).end_fs, _SERVED | exec_at(op, job.row).server):
                break
            job.row += 1
            job.owner += 1
        if job.row == end:
            free_job(m, place)
        else:
            return_to_server(m, op, times, plan, place, end)
        place = onward


@inner
def return_to_server(m, op, times, plan, place, end):
    """Let a job of a broken chain be served at its row, or queue for it; take back what was written further on."""
    job, state = job_at(m, place), state_at(m, 0)
    row = job.row
    server, time = server_at(m, server_of(m, op, row)), time_at(times, row)
    state.events -= 1
    state.requeued += 1
    if job.token == AWAITED:
        state.events += 1
    else:
        plan.left += 1
    job.token = _NONE
    job.stamp = (job.stamp + 1) & JOB_STAMPS  # the event of its exit becomes stale
    take_back(m, op, times, row + 1, end)
    end_fs = time.end_fs
    time.end_fs = _NONE
    if server.used == 0:
        if CHECKED:
            assert is_over(m, time.start_fs, 0), "a job of a broken chain is served before its start"
        server.used = 1
        server.busy_fs -= end_fs
        schedule(m, end_fs, _SERVED | exec_at(op, row).server, job.owner, name_job(m, place))
    else:
        server.busy_fs -= end_fs - time.start_fs
        time.start_fs = _NONE
        enqueue(m, server, place)


@inner
def remove_future_tokens(m, op, times, plan):
    """Remove the jobs from the end of a plan's chain that have not come to it yet. Returns the first of them, or NONE.

    They are at the row before the chain again.
    """
    rows, before, place = plan.chain_rows, _NONE, plan.chain_first
    while place != _NONE and has_come(m, times, job_at(m, place)):
        before, place = place, job_at(m, place).next
    if place == _NONE:
        return place
    if before == _NONE:
        plan.chain_first = _NONE
    else:
        job_at(m, before).next = _NONE
        plan.chain_last = before
    for k in range(rows):
        server = server_at(m, server_of(m, op, job_at(m, place).row + k))
        if before == _NONE:
            server.ready_fs = state_at(m, 0).now_fs
        else:
            server.ready_fs = time_at(times, job_at(m, before).row + k).end_fs
    ahead = place
    while ahead != _NONE:
        job = job_at(m, ahead)
        take_back(m, op, times, job.row, job.row + rows)
        job.row -= 1
        job.owner -= 1
        plan.left += 1
        ahead = job.next
    return place


@inner
def awaits_token(m, times, plan):
    """Whether a plan's chain has a token that has not really come to it yet."""
    return plan.chain_first != _NONE and not has_come(m, times, job_at(m, plan.chain_last))


@inner
def has_come(m, times, job):
    """Whether a job of a chain has really come to it, and is not one whose coming, after a read, is only foreseen."""
    return is_over(m, time_at(times, job.row).issue_fs, _DONE | (job.owner - 1))


@inner
def take_back(m, op, times, row, end):
    """Rows [row, end) of a chain have not been asked for."""
    for k in range(row, end):
        time = time_at(times, k)
        server_at(m, server_of(m, op, k)).busy_fs -= time.end_fs - time.start_fs
        clear_times(times, k)
    state_at(m, 0).events -= end - row


@inner
def clear_times(times, row):
    """A row has not begun, nor is it asked for."""
    time = time_at(times, row)
    time.issue_fs, time.start_fs, time.end_fs = _NONE, _NONE, _NONE
