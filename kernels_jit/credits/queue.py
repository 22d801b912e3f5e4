"""Queues of a network with credits: transfers before a link or at a memory, in the order of (start, owner)."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import quotient
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.compile.prefetch import LINE, prefetch
from kernels_jit.credits.hop_codes import hop_code_of, hop_code_place, is_at_link, link_on, memory_on
from kernels_jit.credits.schedule import wake
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    ROUTER_WORDS,
    TRANSFER_WORDS,
    credit_at,
    router_at,
    state_at,
    transfer_at,
)
from kernels_jit.layout.records import HOP_CODE_SHIFT

_NONE = codes.NONE


@inlined
def queue_transfer(m, place, number, start_fs):
    """Queue all flits of a transfer before a step of its route from a time on, at a memory or before a link."""
    credit, transfer, hop_code = credit_at(m, state_at(m, 0).credit), transfer_at(m, place), hop_code_of(m, number)
    transfer.arrived, transfer.latest_fs, transfer.from_step, transfer.start_fs = 0, 0, number, start_fs
    start = first_cycle(credit, start_fs)
    if CHECKED:
        assert start >= credit.served, "a transfer stands before a step of its route in a cycle that is over"
    if not is_at_link(hop_code):
        _queue_read(m, memory_on(m, credit, hop_code), place)
        wake(m, credit, credit.router_n + (hop_code >> HOP_CODE_SHIFT), start)
    else:
        link = link_on(m, credit, hop_code)
        _queue_at_link(m, link, place)
        if link.source < credit.router_n:
            router_at(m, credit.routers + link.source * ROUTER_WORDS).sources |= np.int64(1) << link.port
        wake(m, credit, link.source, start)


@inner
def _queue_read(m, memory, place):
    """A read comes to its memory."""
    transfer_at(m, place).progress = 0
    before, after = _NONE, memory.coming
    while after != _NONE and _comes_first(m, after, place):
        before, after = after, transfer_at(m, after).next
    transfer_at(m, place).next = after
    if before == _NONE:
        memory.coming = place
    else:
        transfer_at(m, before).next = place


@inner
def _queue_at_link(m, link, place):
    """A transfer comes to its source. One that is being sent stays the first."""
    transfer = transfer_at(m, place)
    before = link.last
    while before != _NONE and _comes_first(m, place, before) and not (before == link.first and link.flits_sent > 0):
        before = transfer_at(m, before).before
    transfer.before = before
    if before == _NONE:
        transfer.tail_step, link.first = link.first, place
    else:
        other = transfer_at(m, before)
        transfer.tail_step, other.tail_step = other.tail_step, place
    if transfer.tail_step == _NONE:
        link.last = place
    else:
        transfer_at(m, transfer.tail_step).before = place


@inlined
def first_cycle(credit, fs):
    """The first cycle that begins at a time or after it."""
    return quotient(fs + credit.cycle_fs - 1, credit.cycle_fs)


@inlined
def later(credit, fs, cycle):
    """The first cycle at a time or after it, but after a cycle."""
    return max(first_cycle(credit, fs), cycle + 1)


@inner
def _comes_first(m, place, other_place):
    transfer, other = transfer_at(m, place), transfer_at(m, other_place)
    return transfer.start_fs < other.start_fs or (transfer.start_fs == other.start_fs and transfer.owner < other.owner)


@inlined
def leave_queue(m, credit, link):
    """The first transfer of a queue has been sent whole."""
    link.first = transfer_at(m, link.first).tail_step
    link.flits_sent = 0
    if link.first == _NONE:
        link.last = _NONE
        if link.source < credit.router_n:
            router_at(m, credit.routers + link.source * ROUTER_WORDS).sources &= ~(np.int64(1) << link.port)
    else:
        transfer = transfer_at(m, link.first)
        transfer.before = _NONE
        prefetch(m, hop_code_place(m, transfer.from_step))
        if transfer.tail_step != _NONE:  # is sent next
            for place in range(transfer.tail_step, transfer.tail_step + TRANSFER_WORDS, LINE):
                prefetch(m, place)
