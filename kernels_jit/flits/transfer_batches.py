"""Transfers that follow each other on one reservation, done as a batch: only the last completion is an event.

Each begins when the one before is complete, and lands as long after its start. That holds for the reads of one token, and
from token to token of a plan as long as tokens go on to a server chain, where what follows from their reads is written at
once. If the reservation is revoked or the chain broken, the transfer that is under way is found by time and event key, and
what was written of later ones is taken back.
"""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    duration_at,
    job_at,
    move_at,
    plan_at,
    reservation_at,
    route_at,
    server_at,
    state_at,
    step_at,
    time_at,
    token_at,
    transfer_at,
)
from kernels_jit.layout.records import NEVER, TOKENS_MOST
from kernels_jit.loop.clock import after
from kernels_jit.loop.event_heap import is_over, schedule
from kernels_jit.servers.chains import clear_times, enter_chain, fits, remove_future_tokens
from kernels_jit.servers.jobs import free_job, new_job
from kernels_jit.servers.queues import first_row, next_token, server_of

_NONE = codes.NONE
_DONE = codes.DONE << codes.KIND_SHIFT


@inner
def batch_following_reads(m, op, times, place):
    """Do the transfers that come next as well: those of a transfer's own job, and of its plan's next tokens."""
    transfer, state = transfer_at(m, place), state_at(m, 0)
    reservation = reservation_at(m, transfer.route)
    tail_fs = route_at(m, transfer.route).tail_fs
    tokens = reservation.ahead
    transfer.progress = job_at(m, transfer.job).row
    while transfer.latest_fs < NEVER:
        job = job_at(m, transfer.job)
        row = job.row
        done_fs = transfer.latest_fs + tail_fs
        if row + 1 < job.end and is_like(op, row, row + 1):
            time_at(times, row).end_fs = done_fs
            row += 1
            time_at(times, row).issue_fs = done_fs
        elif tokens > 0 and is_followed(m, op, job):
            time_at(times, row).end_fs = done_fs
            tokens -= 1
            row = advance_to_next_token(m, op, times, place, done_fs)
        else:
            break
        time_at(times, row).start_fs = done_fs
        transfer.batched = 1
        reservation.passed += transfer.flits
        state.batched += 1
        state.events += 1
        retarget_to_row(m, op, transfer, row, done_fs)
        transfer.latest_fs = after(transfer.start_fs, 1, reservation.lands_fs)
    reservation.ahead = min(2 * reservation.ahead, TOKENS_MOST) if tokens == 0 else 1


@inner
def is_like(op, row, other):
    """Whether two rows of a plan are the same transfer, to the same server. No row of a plan counts its arrival."""
    a, b = move_at(op, row), move_at(op, other)
    return b.code == codes.MOVE and b.route == a.route and b.payload_bytes == a.payload_bytes and b.hold == a.hold


@inner
def is_followed(m, op, job):
    """Whether the next token of a job's plan begins with a row like the job's when that is done, and the job then goes on to
    its plan's chain and no further."""
    number, row, state = job.plan, job.row, state_at(m, 0)
    place = server_of(m, op, row)
    if number == _NONE or place == _NONE or server_at(m, place).slots > 1 or state.job_free_n <= state.margin:
        return False
    plan, queued = plan_at(m, number), server_at(m, place).first
    if plan.chain_rows == 0 or row + 1 + plan.chain_rows != job.end or not is_of_plan(m, queued, number):
        return False
    first = token_at(m, job_at(m, queued).token).start
    return is_like(op, row, first) and fits(m, op, plan, row + 1, job.end)


@inner
def is_of_plan(m, queued, number):
    """Whether the entry of a queue is that of a plan with tokens to hand out."""
    if queued == _NONE:
        return False
    job = job_at(m, queued)
    return job.plan == number and job.token >= 0


@inner
def advance_to_next_token(m, op, times, place, done_fs):
    """A token's reads are done: it enters its plan's chain, and the next token has the transfer. Returns that one's row."""
    transfer = transfer_at(m, place)
    job = job_at(m, transfer.job)
    server = server_at(m, server_of(m, op, job.row))
    job.row += 1
    job.owner += 1
    enter_chain(m, op, times, transfer.job, done_fs)
    plan_at(m, job.plan).transfer = place
    transfer.job = next_token(m, times, server, server.first)
    return job_at(m, transfer.job).row


@inner
def split_batch(m, op, times, place):
    """Of batched transfers, let the one that is under way be the last: what has been written of later ones is taken back."""
    transfer, state = transfer_at(m, place), state_at(m, 0)
    if transfer.batched == 0:
        return
    transfer.batched = 0
    tokens, dropped = roll_back_tokens(m, op, times, place)
    job, reservation = job_at(m, transfer.job), reservation_at(m, transfer.route)
    last = job.row
    row = last
    while row > transfer.progress and move_at(op, row - 1).code == codes.MOVE:
        row -= 1
    owner = job.owner - (last - row)
    while row < last and is_over(m, time_at(times, row).end_fs, _DONE | owner):
        row += 1
        owner += 1
    for later in range(row + 1, last + 1):
        clear_times(times, later)
    dropped += last - row
    if dropped == 0:
        return
    if tokens > 0:
        reservation.ahead = 1
    time = time_at(times, row)
    done_fs = time.end_fs
    time.end_fs = _NONE
    reservation.passed -= dropped * transfer.flits
    state.split += dropped
    state.events -= dropped
    retarget_to_row(m, op, transfer, row, time.start_fs)
    transfer.latest_fs = after(transfer.start_fs, 1, reservation.lands_fs)
    if CHECKED:
        assert done_fs == transfer.latest_fs + route_at(m, transfer.route).tail_fs, "a batch is split at a wrong time"
        assert is_over(m, time.start_fs, 0), "a transfer that a batch is split at has not begun"
        assert not is_over(m, done_fs, _DONE | owner), "a transfer that a batch is split at is complete"
    transfer.stamp += 1  # the completion of the last of the batch becomes stale
    schedule(m, done_fs, _DONE | owner, transfer.stamp, place)


@inner
def roll_back_tokens(m, op, times, place):
    """Let a transfer be that of the token whose reads are under way. Returns how many tokens and rows come after it."""
    transfer = transfer_at(m, place)
    last = transfer.job
    number = job_at(m, last).plan
    if CHECKED:
        assert number != _NONE, "a batch is of no plan"
    plan = plan_at(m, number)
    if plan.transfer != place:
        return 0, 0
    plan.transfer = _NONE
    furthest = plan.chain_last
    first = remove_future_tokens(m, op, times, plan)
    if first == _NONE:
        return 0, 0
    transfer.job = first
    job_at(m, furthest).next = last
    job = job_at(m, first)
    later, row = job.next, job.end
    job.next = _NONE
    tokens, rows = 0, 0
    while later != _NONE:
        dropped = job_at(m, later)
        onward = dropped.next
        tokens += 1
        rows += dropped.row + 1 - row
        for k in range(row, dropped.row + 1):
            clear_times(times, k)
        row = dropped.end
        free_job(m, later)
        later = onward
    requeue_tokens(m, op, number, job, tokens)
    return tokens, rows


@inner
def requeue_tokens(m, op, number, job, tokens):
    """Return tokens that come after that of a job to their plan's entry at the head of a server's queue."""
    server = server_at(m, server_of(m, op, job.row))
    queued = server.first
    if is_of_plan(m, queued, number):
        job_at(m, queued).token -= tokens
        return
    plan = plan_at(m, number)
    first = first_row(m, plan)
    place = new_job(m, first, first, job.owner - (job.row - first), number)
    entry = job_at(m, place)
    entry.token = plan.end - tokens
    entry.next = queued
    server.first = place
    if queued == _NONE:
        server.last = place


@inner
def retarget_to_row(m, op, transfer, row, begun):
    """Let a transfer be that of a row of its job that began at a time."""
    job = job_at(m, transfer.job)
    job.owner += row - job.row
    job.row = row
    transfer.owner = job.owner
    transfer.stripe = move_at(op, row).stripe
    transfer.start_fs = start_fs_of(m, op, row, begun)


@inner
def start_fs_of(m, op, row, begun):
    """When the flits of a row that began at a time come to their first station."""
    arrival_fs = arrival_fs_of(m, op, row, begun)
    return min(arrival_fs + step_at(m, route_at(m, move_at(op, row).route).start).overhead_fs, NEVER)


@inlined
def arrival_fs_of(m, op, row, begun):
    """When the flits of a row that began at a time come to the node before their first station, without its overhead."""
    move = move_at(op, row)
    return after(begun, 1, duration_at(m, move.lead).fs) + route_at(m, move.route).lead_fs
