"""Sources of a network with credits: they send the packets of transfers before a link, one flit a cycle."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.credits.hop_codes import hop_code_of, vcs_on
from kernels_jit.credits.link import first_from, has_credit, held_vcs, is_idle, output_vc_of, traverse_link
from kernels_jit.credits.queue import first_cycle, leave_queue
from kernels_jit.credits.waits import charge_source
from kernels_jit.layout import codes
from kernels_jit.layout.access import link_at, route_at, transfer_at
from kernels_jit.layout.records import HOP_CODE_ENDS, NEVER, PLACE_SHIFT

_NONE = codes.NONE


@inner
def serve_sources(m, op, times, credit, router, cycle):
    """One cycle of the sources at the links of a router, which come before what passes it. Returns as `serve_router`."""
    next_cycle, todo = NEVER, router.sources
    while todo != 0:
        link = link_at(m, m[router.outputs + lowest_bit(todo)])
        todo &= todo - 1
        next_cycle = min(next_cycle, serve_source(m, op, times, credit, link, cycle))
    return next_cycle


@inner
def serve_source(m, op, times, credit, link, cycle):
    """A source sends a flit of its first transfer, if it has a virtual channel with a credit. Returns as `serve_router`."""
    if link.first == _NONE:
        return NEVER
    transfer = transfer_at(m, link.first)
    if transfer.start_fs > cycle * credit.cycle_fs:
        return first_cycle(credit, transfer.start_fs)
    if not is_idle(credit, link, cycle):
        return cycle + 1
    if link.taken == _NONE:
        begin_packet(m, credit, link, transfer, cycle)
        if link.taken == _NONE:
            is_known = credit.outstanding > 0 and link.packets == credit.outstanding and link.returned_n > 0
            return m[link.returns] if is_known else cycle + 1
    if not has_credit(m, output_vc_of(link, link.taken), cycle):
        return cycle + 1
    place, flits, start_fs = link.first, transfer.flits, transfer.start_fs
    link.flits_sent += 1
    is_whole = link.flits_sent == flits
    if is_whole:  # before its last flit is sent, with which it may come to the next queue
        leave_queue(m, credit, link)
    send(m, op, times, credit, link, place, transfer.from_step, cycle)
    if is_whole:
        charge_source(m, credit, link, flits, start_fs)
    return NEVER if link.first == _NONE else cycle + 1


@inlined
def send(m, op, times, credit, link, place, number, cycle):
    """A source sends a flit of the packet under way, which takes the first link of a step of its transfer's route."""
    link.flits_left -= 1
    is_tail, out_vc = link.flits_left == 0, output_vc_of(link, link.taken)
    if is_tail:
        link.taken = _NONE
    flit, is_last = place << PLACE_SHIFT | number << 1 | is_tail, hop_code_of(m, number) & HOP_CODE_ENDS != 0
    traverse_link(m, op, times, credit, link, out_vc, flit, is_last, cycle, True)


@inlined
def begin_packet(m, credit, link, transfer, cycle):
    """The next packet of the first transfer of a source takes a virtual channel, if one can be had."""
    if credit.outstanding > 0:
        forget_packets(m, link, cycle)
        if link.packets == credit.outstanding:
            return
    take_vc(m, credit, link, vcs_on(m, credit, hop_code_of(m, transfer.from_step)), cycle)
    if link.taken != _NONE:
        left = transfer.flits - link.flits_sent
        link.flits_left = 1 if left == 1 else min(left, route_at(m, transfer.route).packet_flits)
        link.packets += 1


@inlined
def take_vc(m, credit, link, allowed, cycle):
    """A packet takes the next virtual channel in turn, of those allowed, that is free and has a credit, if there is one."""
    turn, free = link.taken_last + 1, allowed & ~held_vcs(m, credit, link, cycle)
    while free != 0:
        index = first_from(free, 0 if turn == link.vc_n else turn)
        if has_credit(m, output_vc_of(link, index), cycle):
            link.taken = link.taken_last = index
            link.held |= np.int64(1) << index
            return
        free &= ~(np.int64(1) << index)


@inner
def forget_packets(m, link, cycle):
    """Packets of a source whose arrival it knows by a cycle no longer count."""
    known = 0
    while known < link.returned_n and m[link.returns + known] <= cycle:
        known += 1
    for at in range(known, link.returned_n):
        m[link.returns + at - known] = m[link.returns + at]
    link.returned_n -= known
    link.packets -= known
