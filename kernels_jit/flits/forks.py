"""Forks: flits of a transfer to many destinations that come to the end of a branch, and their copies."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.flits.hops import hop_of
from kernels_jit.flits.port_queues import append, has_block, inject, note_arrival, put
from kernels_jit.layout import codes
from kernels_jit.layout.access import HOP_WORDS, PORT_WORDS, hop_at, port_at, route_at, state_at, step_at, transfer_at
from kernels_jit.layout.records import BLOCK, FLIT_SHIFT, NEVER
from kernels_jit.loop.stops import FULL, GATHERED, SERVED_ALL

_NONE = codes.NONE


@inner
def pass_fork(m, pool, place, left, arrival):
    """A flit has come to the end of a branch at whose end others begin; a destination may be there too.

    `place`: its hop; `left`: how many of its transfer come after it. Returns as `station.serve_station`; a `stop_step` of NONE
    stands for the first steps of these others.
    """
    owner, state = hop_at(m, place).transfer, state_at(m, 0)
    transfer = transfer_at(m, owner)
    route = route_at(m, transfer.route)
    gathers = step_at(m, transfer_at(m, transfer.branch).first_step).store_and_forward == 1
    if gathers or route.destination != _NONE:
        transfer.latest_fs = max(transfer.latest_fs, arrival)
        transfer.arrived += 1
        if left == 0:
            transfer.tail_step, transfer.tail_fs = transfer.end_step, arrival
        if transfer.arrived == transfer.flits:
            if route.destination != _NONE:
                m[state.landed + state.landed_n] = owner
                state.landed_n += 1
            if gathers:
                state.stop_transfer, state.stop_step = owner, _NONE
                return GATHERED
    return SERVED_ALL if gathers else copy_flit(m, pool, transfer.branch, route.forks, left, arrival)


@inner
def copy_flit(m, pool, place, count, left, arrival):
    """Send copies of a flit to `count` branches, from that at a place on. Returns SERVED_ALL, or FULL before all have one."""
    state = state_at(m, 0)
    while count > 0:
        branch = transfer_at(m, place)
        step, at_hop, fs = step_at(m, branch.first_step), hop_of(m, branch, branch.first_step), arrival
        if step.overhead_fs > 0:
            fs = _pass_gate(hop_at(m, at_hop), arrival, step.overhead_fs)
        if left == 0:
            branch.tail_step, branch.tail_fs = branch.first_step, fs
        port = state.ports + step.port * PORT_WORDS
        if step.ports_per_stripe > 0:
            stripe = branch.stripe + branch.flits - 1 - left
            port += stripe % step.stripes * step.ports_per_stripe * PORT_WORDS
        entry = at_hop // HOP_WORDS << FLIT_SHIFT | left
        place, count = branch.next, count - 1
        if not _enter(m, pool, port_at(m, port), entry, branch.owner, fs, step.overhead_fs > 0):
            state.stop_port, state.stop_entry, state.stop_fs = port, entry, fs
            state.stop_branch, state.stop_forks = place, count
            state.stop_left, state.stop_arrival_fs = left, arrival
            return FULL
    return SERVED_ALL


@inner
def _pass_gate(hop, arrival, overhead_fs):
    """When a flit passes a node with an overhead; the first one opens its gate."""
    if hop.gate_fs == _NONE:
        hop.gate_fs = arrival + overhead_fs
    if CHECKED:
        assert arrival + overhead_fs >= hop.gate_fs, "a flit comes to a node before the one that opened its gate"
    return max(arrival, hop.gate_fs)


@inlined
def _enter(m, pool, port, entry, owner, fs, is_gated):
    """A flit enters the queue of a port. Returns whether there is a place for it."""
    if port.fs == NEVER:
        port.fs, port.entry, port.owner = fs, entry, owner
        note_arrival(m, port.rank, fs)
        return True
    if port.tail & (BLOCK - 1) == 0 and not has_block(m):
        return False
    if not is_gated:
        append(m, pool, port, entry, fs)
    elif put(m, pool, port, entry, fs):
        note_arrival(m, port.rank, fs)
    return True


@inner
def release_gathered(m, transfer):
    """All flits of a transfer have come to a store-and-forward node where it forks: queue them before all branches."""
    place = transfer.branch
    for _ in range(route_at(m, transfer.route).forks):
        branch = transfer_at(m, place)
        if CHECKED:
            assert step_at(m, branch.first_step).store_and_forward == 1, "of the branches at a node only some wait"
        inject(m, branch, branch.first_step, transfer.latest_fs + step_at(m, branch.first_step).overhead_fs)
        place = branch.next
