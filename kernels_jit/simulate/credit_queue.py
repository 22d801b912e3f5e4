"""Queues of a network with credits: transfers that stand before their first link, in the order of (start, owner)."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import LINK_WORDS, credit_at, link_at, state_at, step_at, transfer_at

_NONE = codes.NONE


@inner
def queue_transfer(m, place):
    """All flits of a transfer stand before its first link from its start on. One that is being sent stays the first."""
    credit, transfer = credit_at(m, state_at(m, 0).credit), transfer_at(m, place)
    at = step_at(m, transfer.first_step).link >> 1
    link = link_at(m, at)
    transfer.arrived, transfer.latest_fs, transfer.from_step = 0, 0, transfer.first_step
    before = link.last
    while before != _NONE and _comes_first(m, place, before) and not (before == link.first and link.flits_sent > 0):
        before = transfer_at(m, before).before
    transfer.before = before
    if before == _NONE:
        transfer.next, link.first = link.first, place
    else:
        other = transfer_at(m, before)
        transfer.next, other.next = other.next, place
    if transfer.next == _NONE:
        link.last = place
    else:
        transfer_at(m, transfer.next).before = place
    start = first_cycle(credit, transfer.start_fs)
    if CHECKED:
        assert start >= credit.served, "a transfer stands before its first link in a cycle that is over"
    wake(m, credit, credit.router_n + (at - credit.links) // LINK_WORDS, start)


@inlined
def first_cycle(credit, fs):
    """The first cycle that begins at a time or after it."""
    return (fs + credit.cycle_fs - 1) // credit.cycle_fs


@inner
def _comes_first(m, place, other_place):
    transfer, other = transfer_at(m, place), transfer_at(m, other_place)
    return transfer.start_fs < other.start_fs or (transfer.start_fs == other.start_fs and transfer.owner < other.owner)


@inner
def leave_queue(m, link):
    """The first transfer of a queue has been sent whole."""
    link.first = transfer_at(m, link.first).next
    link.flits_sent = 0
    if link.first == _NONE:
        link.last = _NONE
    else:
        transfer_at(m, link.first).before = _NONE


@inner
def wake(m, credit, actor, cycle):
    """An actor, a router or a source, has something to do in a cycle."""
    m[credit.wakes + actor] = min(m[credit.wakes + actor], cycle)
    m[credit.pending + (actor >> 6)] |= np.int64(1) << (actor & 63)
    credit.next = min(credit.next, cycle)
