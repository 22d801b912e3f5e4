"""Transfers that enter the network, and the first bound on their landing."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.flits.closed_form import landing_bound
from kernels_jit.flits.hops import hop_of, set_hops
from kernels_jit.flits.port_queues import inject
from kernels_jit.layout import codes
from kernels_jit.layout.access import hop_at, job_at, move_at, route_at, transfer_at
from kernels_jit.loop.clock import after
from kernels_jit.loop.event_heap import push_bound

_NONE = codes.NONE


@inner
def enter(m, op, place):
    """Queue all flits of a transfer before its first station from its start on. It gets a bound if anything follows."""
    transfer = transfer_at(m, place)
    if CHECKED:
        assert transfer.closed == 0, "a transfer in closed form enters the network"
    write_hops(m, place)
    inject(m, transfer, transfer.first_step, transfer.start_fs)
    if is_awaited(m, op, transfer.job):
        bound_fs = max(first_bound_fs(m, op, transfer), 1)
        push_bound(m, after(transfer.start_fs, 1, bound_fs) + following_fs(m, op, place), place)


@inlined
def first_bound_fs(m, op, transfer):
    """How long after its start a transfer lands at the soonest; the same for all of a route with as many bytes."""
    route, nbytes = route_at(m, transfer.route), move_at(op, job_at(m, transfer.job).row).payload_bytes
    if route.bound_bytes != nbytes:
        route.bound_bytes, route.bound_fs = nbytes, soonest_fs(m, transfer)
    if CHECKED:
        assert route.bound_fs == soonest_fs(m, transfer), "transfers of one route and size have different bounds"
    return route.bound_fs


@inner
def soonest_fs(m, transfer):
    """How long after its start a transfer lands at the soonest, or NEVER."""
    first, end = transfer.first_step, transfer.end_step
    return landing_bound(m, first, end, transfer.flits, transfer.last_bytes, transfer.stripe, 0)


@inner
def write_hops(m, place):
    """Write the hops of a transfer before it enters the network."""
    transfer = transfer_at(m, place)
    set_hops(m, transfer)
    for number in range(transfer.first_step, transfer.end_step):
        hop = hop_at(m, hop_of(m, transfer, number))
        hop.owner, hop.transfer, hop.gate_fs = transfer.owner, place, _NONE


@inner
def is_awaited(m, op, job_place):
    """Whether anything can follow from the completion of a job's transfer."""
    job = job_at(m, job_place)
    move = move_at(op, job.row)
    return move.done != _NONE or move.hold != _NONE or move.arrive != _NONE or job.plan != _NONE


@inner
def following_fs(m, op, place):
    """How long after it has landed the first thing follows from a transfer to one: no time if its arrival is counted."""
    transfer = transfer_at(m, place)
    is_counted = move_at(op, job_at(m, transfer.job).row).arrive != _NONE
    return 0 if is_counted else route_at(m, transfer.route).tail_fs
