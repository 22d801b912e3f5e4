"""Transfers that enter the network, and the first bound on their landing."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import hop_at, job_at, move_at, route_at, transfer_at
from kernels_jit.simulate.closed_form import landing_bound
from kernels_jit.simulate.event_heap import push_bound
from kernels_jit.simulate.hops import hop_of, set_hops
from kernels_jit.simulate.port_queues import inject

_NONE = codes.NONE


@inner
def enter(m, op, place):
    """All flits of a transfer stand before its first station since its start. If anything follows from it, it gets a bound."""
    transfer = transfer_at(m, place)
    first, end, flits = transfer.first_step, transfer.end_step, transfer.flits
    if CHECKED:
        assert transfer.closed == 0, "a transfer in closed form enters the network"
    write_hops(m, place)
    inject(m, transfer, first, transfer.start_fs)
    if is_awaited(m, op, transfer.job):
        bound_fs = landing_bound(m, first, end, flits, transfer.last_bytes, transfer.stripe, transfer.start_fs)
        push_bound(m, max(bound_fs, transfer.start_fs + 1) + following_fs(m, op, place), place)


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
