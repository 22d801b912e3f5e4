"""Transfers: start, delivery, what follows. What happens between, flit by flit, is the network's.

A transfer is free, or closed (done in closed form), or open (its flits are in the network), or delivered (events follow):

    free ── start_transfer ──► closed ── deliver ──► delivered ── free_transfer ──► free
                 │                ▲ │ revoke_reservation: the same, as flits        ▲
                 │   split_batch ─┘ ▼                                               │
                 └──────────────► open ── deliver ──► delivered ────────────────────┘
"""

from __future__ import annotations

from kernels_jit.compile.bits import quotient
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.credits.queue import queue_transfer
from kernels_jit.flits.injection import enter, following_fs, is_awaited
from kernels_jit.flits.multicast import (
    arrival_counter,
    completion_of,
    counts_arrivals,
    free_branches,
    land_branch,
    start_multicast,
)
from kernels_jit.flits.reservations import finish_in_closed_form, release_stations, try_reserve
from kernels_jit.flits.transfer_batches import arrival_fs_of, batch_following_reads, start_fs_of
from kernels_jit.flits.transfer_pool import return_transfer, take_transfer
from kernels_jit.layout import codes
from kernels_jit.layout.access import credit_at, duration_at, job_at, move_at, route_at, state_at, time_at, transfer_at
from kernels_jit.layout.records import COUNTED, LONE_ROW, NEVER
from kernels_jit.loop.clock import after
from kernels_jit.loop.event_heap import schedule
from kernels_jit.servers.jobs import free_job

_NONE = codes.NONE


@inner
def start_transfer(m, op, times, job_place, now):
    """Begin the transfer of a job's MOVE row: its flits enter the network, or a bare header is on its way."""
    state, job = state_at(m, 0), job_at(m, job_place)
    move = move_at(op, job.row)
    route = route_at(m, move.route)
    if route.destinations > 0:
        start_multicast(m, op, times, job_place, now)
        return
    place = take_transfer(m)
    transfer = transfer_at(m, place)
    transfer.job, transfer.owner = job_place, job.owner
    transfer.route, transfer.stripe = move.route, move.stripe
    transfer.first_step, transfer.end_step = route.start, route.end
    transfer.closed, transfer.flits = 0, 0
    if move.payload_bytes == 0:
        start = after(now, 1, duration_at(m, move.lead).fs) + route.lead_fs
        deliver(m, op, times, place, start + route.propagation_fs)
        return
    flits = quotient(move.payload_bytes + state.flit_bytes - 1, state.flit_bytes)
    transfer.flits = flits
    transfer.last_bytes = move.payload_bytes - (flits - 1) * state.flit_bytes
    if state.credit != _NONE:
        queue_transfer(m, place, transfer.first_step, arrival_fs_of(m, op, job.row, now))
        if not is_awaited(m, op, job_place):
            transfer.job, transfer.tail_fs = LONE_ROW - job.row, route.tail_fs
            credit_at(m, state.credit).lone += 1
            free_job(m, job_place)
        return
    transfer.start_fs = start_fs_of(m, op, job.row, now)
    if state.hybrid == 1 and try_reserve(m, op, times, place):
        transfer.latest_fs = finish_in_closed_form(m, transfer)
        if transfer.closed == COUNTED:
            batch_following_reads(m, op, times, place)
        deliver(m, op, times, place, transfer.latest_fs)
    else:
        enter(m, op, place)


@inner
def deliver(m, op, times, place, fs):
    """All bytes of a transfer will be at the destination at `fs`: schedule the events that follow.

    A transfer from whose completion nothing follows, and which was not done in closed form, is simply over.
    """
    transfer, state = transfer_at(m, place), state_at(m, 0)
    if transfer.job <= LONE_ROW:
        end_alone(m, times, place, fs)
        return
    if transfer.branch != 0:
        land_branch(m, op, times, place, fs)
        return
    row = job_at(m, transfer.job).row
    transfer.from_step = _NONE
    done_fs = fs + route_at(m, transfer.route).tail_fs
    if move_at(op, row).arrive != _NONE:
        schedule(m, fs, (codes.DELIVER << codes.KIND_SHIFT) | transfer.owner, transfer.stamp, place)
    if transfer.closed == 0 and not is_awaited(m, op, transfer.job):
        time_at(times, row).end_fs = done_fs
        state.latest_fs = max(state.latest_fs, done_fs)
        state.events += 1
        free_job(m, transfer.job)
        free_transfer(m, place)
        return
    schedule(m, done_fs, (codes.DONE << codes.KIND_SHIFT) | transfer.owner, transfer.stamp, place)


@inlined
def end_alone(m, times, place, fs):
    """All bytes of a transfer with credits will be at the destination at `fs`, and nothing follows: it is over."""
    transfer, state = transfer_at(m, place), state_at(m, 0)
    transfer.from_step = _NONE
    credit_at(m, state.credit).lone -= 1
    done_fs = fs + transfer.tail_fs
    time_at(times, LONE_ROW - transfer.job).end_fs = done_fs
    state.latest_fs = max(state.latest_fs, done_fs)
    state.events += 1
    free_transfer(m, place)


@inner
def free_transfer(m, place):
    """Return a transfer and its claims on stations. Returns the place of its job."""
    transfer = transfer_at(m, place)
    if transfer.branch != 0:
        return free_branches(m, place)
    release_stations(m, place)
    transfer.batched = 0
    return_transfer(m, place)
    return transfer.job


@inner
def following_at_fs(m, op, place):
    """When the first thing follows from a transfer or a branch that has just landed; NEVER if nothing does."""
    transfer = transfer_at(m, place)
    if transfer.branch == 0:
        is_followed = is_awaited(m, op, transfer.job)
        return transfer.latest_fs + following_fs(m, op, place) if is_followed else NEVER
    if counts_arrivals(m, op, transfer.job):
        return transfer.latest_fs
    is_last = job_at(m, transfer.job).left == 1
    return completion_of(m, place)[0] if is_last and is_awaited(m, op, transfer.job) else NEVER


@inner
def counter_of(m, op, place):
    """The counter to which the delivery of a transfer, or of a branch of one, is added."""
    transfer = transfer_at(m, place)
    if transfer.branch != 0:
        return arrival_counter(m, op, place)
    return move_at(op, job_at(m, transfer.job).row).arrive
