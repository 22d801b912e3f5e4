"""Transfers to many destinations: a transfer record for each branch of the tree, in a ring in the order of their routes.

All have the job, the owner and the size of the transfer, so at each station they are one transfer. Flits are copied where the
tree forks (`forks`). Each arrival at a destination is noted by itself; when the last has come, the whole ring is complete.
"""

from __future__ import annotations

from kernels_jit.compile.jit import inner
from kernels_jit.credits.queue import queue_transfer
from kernels_jit.flits.closed_form import service_fs
from kernels_jit.flits.injection import is_awaited, write_hops
from kernels_jit.flits.port_queues import inject
from kernels_jit.flits.reservations import mark_in_use, release_stations
from kernels_jit.flits.transfer_pool import return_transfer, take_transfer
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    arrive_at,
    duration_at,
    job_at,
    move_at,
    route_at,
    state_at,
    station_at,
    step_at,
    time_at,
    transfer_at,
)
from kernels_jit.loop.clock import after
from kernels_jit.loop.event_heap import push_bound, schedule
from kernels_jit.servers.jobs import free_job

_NONE = codes.NONE


@inner
def start_multicast(m, op, times, job_place, now):
    """Begin the transfer of a job's MOVE row, which takes a route to many."""
    job, state = job_at(m, job_place), state_at(m, 0)
    move = move_at(op, job.row)
    count, start_fs = route_at(m, move.route).branches, after(now, 1, duration_at(m, move.lead).fs)
    job.left = route_at(m, move.route).destinations
    first = _take_branches(m, op, job_place, count, start_fs)
    _link_branches(m, first, count)
    _begin_arrivals(times, job, now)
    if move.payload_bytes == 0:
        _send_header(m, op, times, first, count, start_fs)
        return
    if state.credit != _NONE:
        _queue_branches(m, first, start_fs)
        return
    place = first
    for _ in range(count):
        branch = transfer_at(m, place)
        if state.hybrid == 1:
            mark_in_use(m, op, times, branch)
        write_hops(m, place)
        if route_at(m, branch.route).parent == _NONE:
            inject(m, branch, branch.first_step, start_fs)
        place = branch.next
    _push_bounds(m, op, job_place, first, start_fs + 1)


@inner
def _take_branches(m, op, job_place, count, start_fs):
    """Allocate a transfer for each branch of a job's route. Returns the place of the first."""
    state, job = state_at(m, 0), job_at(m, job_place)
    move = move_at(op, job.row)
    flits = (move.payload_bytes + state.flit_bytes - 1) // state.flit_bytes
    first, last = _NONE, _NONE
    for number in range(move.route, move.route + count):
        place, route = take_transfer(m), route_at(m, number)
        branch = transfer_at(m, place)
        branch.job, branch.owner, branch.stripe = job_place, job.owner, move.stripe
        branch.route, branch.first_step, branch.end_step = number, route.start, route.end
        branch.closed, branch.flits, branch.arrived, branch.latest_fs = 0, flits, 0, 0
        branch.last_bytes = move.payload_bytes - (flits - 1) * state.flit_bytes
        branch.start_fs, branch.tail_fs = start_fs, start_fs
        branch.from_step, branch.tail_step = route.start - 1, route.start  # before its first step: nothing has come yet
        branch.branch = _NONE
        if first == _NONE:
            first = place
        else:
            transfer_at(m, last).next = place
        last = place
    transfer_at(m, last).next = first
    return first


@inner
def _link_branches(m, first, count):
    """Let each branch know the first of those at its end. Parents come in the order of their branches."""
    parent, place = first, first
    for _ in range(count):
        branch = transfer_at(m, place)
        number = route_at(m, branch.route).parent
        if number != _NONE:
            while transfer_at(m, parent).route != number:
                parent = transfer_at(m, parent).next
            if transfer_at(m, parent).branch == _NONE:
                transfer_at(m, parent).branch = place
        place = branch.next


@inner
def _begin_arrivals(times, job, now):
    """The rows of arrivals begin with their transfer. A stage of a plan has none."""
    if job.plan == _NONE:
        issue_fs = time_at(times, job.row).issue_fs
        for row in range(job.row + 1, job.row + 1 + job.left):
            time = time_at(times, row)
            time.issue_fs, time.start_fs = issue_fs, now


@inner
def _send_header(m, op, times, place, count, start_fs):
    """A message of no bytes pays propagation only."""
    for _ in range(count):
        onward, route = transfer_at(m, place).next, route_at(m, transfer_at(m, place).route)
        if route.destination != _NONE:
            land_branch(m, op, times, place, start_fs + route.propagation_fs)
        place = onward


@inner
def _queue_branches(m, first, start_fs):
    """Queue the branches that begin at the source before links with credits."""
    place = first
    while route_at(m, transfer_at(m, place).route).parent == _NONE:
        onward = transfer_at(m, place).next
        queue_transfer(m, place, transfer_at(m, place).first_step, start_fs)
        place = onward
        if place == first:
            return


@inner
def _push_bounds(m, op, job_place, first, soonest_fs):
    """First bounds of a multicast that is about to begin: of each landing if arrivals are counted, else of its completion."""
    is_counted, place, complete_fs = counts_arrivals(m, op, job_place), first, _NONE
    while True:
        route = route_at(m, transfer_at(m, place).route)
        bound_fs = max(_pass_bounds(m, place), soonest_fs)
        if route.destination != _NONE:
            complete_fs = max(complete_fs, bound_fs + route.tail_fs)
            if is_counted:
                push_bound(m, bound_fs, place)
        place = transfer_at(m, place).next
        if place == first:
            break
    if not is_counted and is_awaited(m, op, job_place):
        push_bound(m, complete_fs, first)


@inner
def _pass_bounds(m, place):
    """The time before which the last flit of a branch does not come to its end; the branches that begin there know it too.

    The first flit comes to a station no sooner than uncontended, and the last one begins no sooner than after all before it.
    """
    branch = transfer_at(m, place)
    head_fs, last_fs, before = branch.start_fs, branch.tail_fs, branch.flits - 1
    head_bytes = state_at(m, 0).flit_bytes if before > 0 else branch.last_bytes
    for number in range(branch.first_step, branch.end_step):
        step = step_at(m, number)
        station = station_at(m, step.station)
        if step.store_and_forward == 1:
            last_fs += step.overhead_fs
            head_fs = last_fs
        else:
            head_fs += step.overhead_fs
            last_fs = max(last_fs, head_fs)
        last_fs = max(last_fs, after(head_fs, before // step.stripes, station.full_fs))
        last_fs += service_fs(m, station, branch.last_bytes) + station.propagation_fs
        head_fs += service_fs(m, station, head_bytes) + station.propagation_fs
    place = branch.branch
    for _ in range(route_at(m, branch.route).forks):
        onward = transfer_at(m, place)
        onward.start_fs, onward.tail_fs = head_fs, last_fs
        place = onward.next
    return last_fs


@inner
def arrival_counter(m, op, place):
    """The counter to which an arrival at the end of a branch is added, or NONE. A stage of a plan counts none."""
    branch = transfer_at(m, place)
    job, destination = job_at(m, branch.job), route_at(m, branch.route).destination
    if destination == _NONE or job.plan != _NONE:
        return _NONE
    return arrive_at(op, job.row + 1 + destination).counter


@inner
def is_tree_awaited(m, op, job_place):
    """Whether anything can follow from the transfer to many of a job, or from one of its arrivals."""
    return is_awaited(m, op, job_place) or counts_arrivals(m, op, job_place)


@inner
def counts_arrivals(m, op, job_place):
    """Whether an arrival of the transfer to many of a job is added to a counter. A stage of a plan counts none."""
    job = job_at(m, job_place)
    if job.plan != _NONE:
        return False
    for arrival in range(job.row + 1, job.row + 1 + route_at(m, move_at(op, job.row).route).destinations):
        if arrive_at(op, arrival).counter != _NONE:
            return True
    return False


@inner
def land_branch(m, op, times, place, fs):
    """All bytes of a transfer to many will be at the destination at the end of a branch at `fs`."""
    branch = transfer_at(m, place)
    job = job_at(m, branch.job)
    branch.from_step, branch.latest_fs = _NONE, fs
    if job.plan == _NONE:
        time_at(times, job.row + 1 + route_at(m, branch.route).destination).end_fs = fs
        if arrival_counter(m, op, place) != _NONE:
            schedule(m, fs, (codes.DELIVER << codes.KIND_SHIFT) | branch.owner, branch.stamp, place)
    job.left -= 1
    if job.left == 0:
        _complete(m, op, times, place)


@inner
def _complete(m, op, times, place):
    """All destinations are reached: schedule the completion, when the last acknowledgement is back, or be simply over."""
    state = state_at(m, 0)
    done_fs, last = completion_of(m, place)
    transfer = transfer_at(m, last)
    if is_tree_awaited(m, op, transfer.job):
        schedule(m, done_fs, (codes.DONE << codes.KIND_SHIFT) | transfer.owner, transfer.stamp, last)
        return
    time_at(times, job_at(m, transfer.job).row).end_fs = done_fs
    state.latest_fs = max(state.latest_fs, done_fs)
    state.events += 1
    free_job(m, free_branches(m, last))


@inner
def completion_of(m, place):
    """When a transfer to many is complete whose destinations are all reached, and the branch that is acknowledged last."""
    done_fs, last, at = _NONE, place, place
    while True:
        route = route_at(m, transfer_at(m, at).route)
        if route.destination != _NONE and transfer_at(m, at).latest_fs + route.tail_fs > done_fs:
            done_fs, last = transfer_at(m, at).latest_fs + route.tail_fs, at
        at = transfer_at(m, at).next
        if at == place:
            return done_fs, last


@inner
def free_branches(m, place):
    """Return all branches of a transfer to many, and their claims on stations. Returns the place of its job."""
    job, at = transfer_at(m, place).job, place
    while True:
        branch = transfer_at(m, at)
        onward = branch.next
        release_stations(m, at)
        branch.from_step, branch.branch = _NONE, 0
        return_transfer(m, at)
        at = onward
        if at == place:
            return job
