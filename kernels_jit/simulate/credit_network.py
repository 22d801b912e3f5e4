"""The network with credits: routers and sources are served in windows of a few cycles, each actor for a whole window.

What an actor does in a cycle is seen by another after at least `window` cycles (docs/engine.md, "Networks with credits"). So
within a window actors may be served in any order, and the state of each stays in the cache.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    LINK_WORDS,
    ROUTER_WORDS,
    credit_at,
    event_at,
    link_at,
    router_at,
    state_at,
    station_at,
    step_at,
    transfer_at,
)
from kernels_jit.layout.records import NEVER, PLACE_SHIFT
from kernels_jit.simulate.credit_link import channel_of, cross, first_from, has_credit, held_channels, is_idle
from kernels_jit.simulate.credit_queue import first_cycle, leave_queue
from kernels_jit.simulate.credit_router import serve_router

_NONE = codes.NONE


@inner
def next_cycle_fs(m):
    """When the next cycle begins in which the network has something to do, or NEVER."""
    state = state_at(m, 0)
    if state.credit == _NONE:
        return NEVER
    credit = credit_at(m, state.credit)
    return NEVER if credit.next == NEVER else credit.next * credit.cycle_fs


@inner
def serve_cycles(m, op, times, before_fs, stop):
    """Serve all cycles that begin before a time, or until `stop` events are done. Returns whether flits stand for ever."""
    state = state_at(m, 0)
    credit = credit_at(m, state.credit)
    while credit.next != NEVER and credit.next * credit.cycle_fs < before_fs and state.events < stop:
        begin = credit.next
        if begin > credit.served:  # nothing asked in between
            credit.moved = begin
        if begin - credit.moved > credit.patience and state.heap_n == 0:
            return True
        end = min(begin + credit.window, first_cycle(credit, before_fs))
        credit.served = end
        serve_window(m, op, times, credit, end)
        credit.next = first_wake(m, credit)
        if state.heap_n > 0:
            before_fs = min(before_fs, event_at(m, state.heap).fs)
    return False


@inner
def serve_window(m, op, times, credit, end):
    """Serve each actor in the cycles of a window, which begins at the first wake."""
    for word in range(credit.words):
        todo = m[credit.pending + word]
        while todo != 0:
            actor = word * 64 + lowest_bit(todo)
            todo &= todo - 1
            cycle = m[credit.wakes + actor]
            if cycle >= end:
                continue
            if actor < credit.router_n:
                router = router_at(m, credit.routers + actor * ROUTER_WORDS)
                while cycle < end:
                    cycle = serve_router(m, op, times, credit, router, cycle)
            else:
                link = link_at(m, credit.links + (actor - credit.router_n) * LINK_WORDS)
                while cycle < end:
                    cycle = serve_source(m, op, times, credit, link, cycle)
            m[credit.wakes + actor] = cycle
            if cycle == NEVER:
                m[credit.pending + word] &= ~(np.int64(1) << (actor & 63))


@inner
def first_wake(m, credit):
    """The first cycle in which an actor may have something to do, or NEVER."""
    first = NEVER
    for word in range(credit.words):
        todo = m[credit.pending + word]
        while todo != 0:
            first = min(first, m[credit.wakes + word * 64 + lowest_bit(todo)])
            todo &= todo - 1
    return first


@inner
def serve_source(m, op, times, credit, link, cycle):
    """A source sends a flit of its first transfer, if it has a virtual channel with a credit. Returns as `serve_router`."""
    if link.first == _NONE:
        return NEVER
    transfer = transfer_at(m, link.first)
    start = first_cycle(credit, transfer.start_fs)
    if start > cycle:
        return start
    if not is_idle(credit, link, cycle):
        return cycle + 1
    if link.taken == _NONE:
        begin_packet(m, credit, link, transfer, cycle)
        if link.taken == _NONE:
            is_known = credit.outstanding > 0 and link.packets == credit.outstanding and link.returned_n > 0
            return m[link.returns] if is_known else cycle + 1
    channel = channel_of(m, link, link.taken)
    if not has_credit(m, credit, channel, cycle):
        return cycle + 1
    place, is_last = link.first, transfer.first_step + 1 == transfer.end_step
    link.flits_sent += 1
    link.flits_left -= 1
    flit = place << PLACE_SHIFT | transfer.first_step << 1 | (link.flits_left == 0)
    if link.flits_left == 0:
        link.taken = _NONE
        if link.flits_sent == transfer.flits:
            leave_queue(m, link)
    cross(m, op, times, credit, link, channel, flit, is_last, cycle, link.sending_fs, link.sending)
    return NEVER if link.first == _NONE else cycle + 1


@inner
def begin_packet(m, credit, link, transfer, cycle):
    """The next packet of a source takes the next virtual channel in turn that is free and has a credit, if there is one."""
    if credit.outstanding > 0:
        forget_packets(m, link, cycle)
        if link.packets == credit.outstanding:
            return
    some, free = np.int64(0), step_at(m, transfer.first_step).channels & ~held_channels(m, credit, link, cycle)
    while free != 0:
        index = lowest_bit(free)
        if has_credit(m, credit, channel_of(m, link, index), cycle):
            some |= np.int64(1) << index
        free &= free - 1
    if some == 0:
        return
    turn = link.taken_last + 1
    link.taken = link.taken_last = first_from(some, 0 if turn == credit.channels else turn)
    link.held |= np.int64(1) << link.taken
    link.flits_left = min(transfer.flits - link.flits_sent, credit.packet_flits)
    link.packets += 1


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


@inner
def count_crossings(m):
    """Count at its station what has crossed each link."""
    state = state_at(m, 0)
    if state.credit == _NONE:
        return
    credit = credit_at(m, state.credit)
    for number in range(credit.link_n):
        link = link_at(m, credit.links + number * LINK_WORDS)
        if link.flits > 0:
            station = station_at(m, link.station)
            station.flits += link.flits
            station.busy_fs += link.flits * link.full_fs
            link.flits = 0
