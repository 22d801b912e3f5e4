"""Servers: requests for a slot, service, the stages of a tile plan, release of the slot.

A job is one row being done on behalf of a thread, or one token of a plan walking its rows. A plan whose tokens still
queue is a single entry of its first server's queue that hands out one token after the other.
"""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.flits.transfer_batches import split_batch
from kernels_jit.flits.transfers import start_transfer
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    code_at,
    counter_at,
    duration_at,
    exec_at,
    job_at,
    move_at,
    pipe_at,
    plan_at,
    server_at,
    thread_at,
    time_at,
    token_at,
    wait_at,
)
from kernels_jit.layout.records import AWAITED, BUSY_SHIFT
from kernels_jit.loop.event_heap import schedule
from kernels_jit.servers.chains import await_last, awaits_token, break_chain, enter_chain, exit_chain
from kernels_jit.servers.jobs import free_job, name_job, new_job
from kernels_jit.servers.queues import enqueue, first_row, next_token, server_of

_NONE = codes.NONE


@inner
def begin(m, op, times, place, now):
    """The job has its slot: start its row."""
    job = job_at(m, place)
    time_at(times, job.row).start_fs = now
    stage = exec_at(op, job.row)
    if stage.code == codes.EXEC:
        end_fs = now + duration_at(m, stage.duration).fs
        schedule(m, end_fs, (codes.SERVED << codes.KIND_SHIFT) | stage.server, job.owner, name_job(m, place))
    else:
        start_transfer(m, op, times, place, now)


@inner
def request(m, op, times, place, now):
    """The job asks for its row's server: served at once if a slot is free and nobody queues, else it joins the queue."""
    job = job_at(m, place)
    server = server_of(m, op, job.row)
    time_at(times, job.row).issue_fs = now
    if server == _NONE:
        begin(m, op, times, place, now)
        return
    if job.plan != _NONE:
        plan = plan_at(m, job.plan)
        if awaits_token(m, times, plan):  # tokens enter a chain in the order in which they ask (docs/engine.md, 9)
            split_batch(m, op, times, plan.transfer)
        if enter_chain(m, op, times, place, now):
            return
    join(m, op, times, server_at(m, server), place, now)


@inner
def join(m, op, times, server, place, now):
    """Come to the end of a server's queue and leave its chain."""
    if server.chain != _NONE:
        transfer = plan_at(m, server.chain).transfer
        if transfer != _NONE:  # a batch rests on its chain, so it is split first
            split_batch(m, op, times, transfer)
        break_chain(m, op, times, server.chain)
    enqueue(m, server, place)
    admit(m, op, times, server, now)


@inner
def admit(m, op, times, server, now):
    """Give free slots to the head of the queue."""
    while server.used < server.slots and server.first != _NONE:
        place = server.first
        job = job_at(m, place)
        if job.token == _NONE:
            server.first = job.next
            job.next = _NONE
        else:
            place = next_token(m, times, server, place)
        server.used += 1
        add_busy(server, -now)  # `release` adds the end
        begin(m, op, times, place, now)


@inner
def add_busy(server, fs):
    """Add to how long the slots of a server were taken: that of many need not fit into a word."""
    busy_fs = server.busy_fs + fs
    server.busy_fs = busy_fs & (1 << BUSY_SHIFT) - 1
    server.busy_carried += busy_fs >> BUSY_SHIFT


@inner
def start_plan(m, op, times, row, owner, now):
    """Queue all tokens of a PIPE row's plan on the server on which they begin. Returns how many rows they have."""
    number = pipe_at(op, row).plan
    plan, time = plan_at(m, number), time_at(times, row)
    plan.row = row
    plan.left = plan.end - plan.first
    time.issue_fs, time.start_fs = now, now
    first = first_row(m, plan)
    place = new_job(m, first, first, owner, number)
    job_at(m, place).token = plan.first
    join(m, op, times, server_at(m, server_of(m, op, first)), place, now)
    return token_at(m, plan.end - 1).end - first


@inner
def finish(m, op, times, place, now):
    """The job's row is complete: go on to the token's next stage, or count what was waited for."""
    job = job_at(m, place)
    in_chain = job.token == AWAITED
    if in_chain:
        exit_chain(m, place)
    row = job.row
    server = _NONE if in_chain else server_of(m, op, row)
    time_at(times, row).end_fs = now
    if row + 1 < job.end:
        job.row = row + 1
        job.owner += 1
        if server_of(m, op, row + 1) == server:
            time_at(times, row + 1).issue_fs = now
            begin(m, op, times, place, now)
            return
        request(m, op, times, place, now)
        release(m, op, times, server, now)
        return
    number = job.plan
    counter = exec_at(op, row).counter if code_at(op, row).code == codes.EXEC else move_at(op, row).done
    free_job(m, place)
    release(m, op, times, server, now)
    if number != _NONE:
        plan = plan_at(m, number)
        plan.left -= 1
        if CHECKED:
            assert plan.left >= 0, "a plan has more tokens finished than it has"
        if plan.left > 0 or await_last(m, op, times, plan):
            return
        time_at(times, plan.row).end_fs = now
        counter = pipe_at(op, plan.row).counter
    if counter != _NONE:
        add(m, op, counter, 1, now)


@inner
def release(m, op, times, place, now):
    """Give a slot of a server back and serve whoever queues for it."""
    if place != _NONE:
        server = server_at(m, place)
        server.used -= 1
        add_busy(server, now)
        if CHECKED:
            assert server.used >= 0, "a server has fewer than no slots taken"
        admit(m, op, times, server, now)


@inner
def add(m, op, number, amount, now):
    """Add to a counter and wake every thread whose condition now holds; each looks again when its turn comes."""
    counter = counter_at(m, number)
    counter.value += amount
    waiter, kept = counter.waiter, _NONE
    while waiter != _NONE:
        thread = thread_at(m, waiter)
        onward = thread.next
        if is_met(m, op, thread.cursor):
            schedule(m, now, (codes.WAKE << codes.KIND_SHIFT) | waiter, 0, waiter)
        else:
            thread.next = kept
            kept = waiter
        waiter = onward
    counter.waiter = kept


@inner
def is_met(m, op, row):
    """Whether a WAIT row's condition holds."""
    wait = wait_at(op, row)
    value = counter_at(m, wait.counter).value
    return value >= wait.value if wait.compare == codes.GE else value == wait.value
