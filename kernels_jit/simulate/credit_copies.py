"""Copies of packets in routers with credits: where a transfer to many forks, a packet goes on to several links.

Its flits stand in the buffer until all copies have passed them. Each copy has a record that in part is as that of a virtual
channel (`records.COPY`), so it asks for a virtual channel and for the switch as a packet to one destination does.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    COPY_WORDS,
    channel_at,
    copy_at,
    input_at,
    link_at,
    route_at,
    transfer_at,
)
from kernels_jit.layout.records import COPIES, IS_COPY, NEVER, PLACE_SHIFT, PORTS_MOST, WAY_ENDS
from kernels_jit.simulate.credit_bids import bid, have_credit, label_of
from kernels_jit.simulate.credit_channels import add_ask
from kernels_jit.simulate.credit_link import (
    allowed_of,
    channel_slots,
    cross,
    depth_of,
    front_of,
    has_credit,
    held_channels,
    is_free,
    slot_after,
    take_front,
)
from kernels_jit.simulate.credit_ways import link_place, set_of, way_of

_NONE = codes.NONE


@inner
def begin_copies(m, credit, router, channel):
    """The packet at the front of a buffer forks here: it gets a copy for each branch that begins."""
    transfer = transfer_at(m, front_of(m, channel).flit >> PLACE_SHIFT)
    branches, place = route_at(m, transfer.route).forks, transfer.branch
    copies = link_at(m, input_at(m, channel.input).link).copies
    first = copies + channel.index * router.ports * COPY_WORDS
    if CHECKED:
        assert branches <= router.ports, "a packet forks into more branches than its router has links"
    channel.onward, channel.given, channel.allowed = COPIES, first, branches
    copy_at(m, first).accept = channel.accept
    for at in range(first, first + branches * COPY_WORDS, COPY_WORDS):
        branch, copy = transfer_at(m, place), copy_at(m, at)
        way = way_of(m, branch.first_step)
        copy.flit, copy.front, copy.passed, copy.is_over = (
            place << PLACE_SHIFT | branch.first_step << 1,
            channel.front,
            0,
            0,
        )
        copy.onward, copy.is_last, copy.allowed = (
            link_place(credit, way),
            IS_COPY | way & WAY_ENDS,
            set_of(way),
        )
        copy.given, copy.ready = _NONE, channel.ready
        place = branch.next


@inner
def serve_copies(m, credit, lane, channel, asks, cycle):
    """Heads of copies in a lane ask, and flits of copies bid: of those that can, the copies that are furthest behind.

    `asks`: how many heads ask already. Returns how many do then, and the bits of the outputs that these ask and bid for.
    """
    asked, wanted, able, least = np.int64(0), np.int64(0), np.int64(0), NEVER
    for number in range(channel.allowed):
        place = channel.given + number * COPY_WORDS
        copy = copy_at(m, place)
        if copy.is_over == 1 or copy.ready > cycle or not is_waiting(m, copy, cycle):
            continue
        onward = link_at(m, copy.onward)
        if copy.given != _NONE:
            if is_free(credit, onward, cycle) and has_credit(m, copy.given, cycle):
                able |= np.int64(1) << number
                least = min(least, copy.passed)
            continue
        free = allowed_of(m, credit, copy) & ~held_channels(m, credit, onward, cycle)
        if free == 0:
            continue
        asked |= np.int64(1) << onward.port
        asks = add_ask(m, credit, asks, place, lane, free)
        if credit.speculative == 1 and credit.allocator != codes.AGE:
            if is_free(credit, onward, cycle) and have_credit(m, onward, free, cycle):
                wanted |= bid(m, credit, place)
    while able != 0:
        place = channel.given + lowest_bit(able) * COPY_WORDS
        able &= able - 1
        if copy_at(m, place).passed == least:
            wanted |= bid(m, credit, place)
    return asks, asked, wanted


@inlined
def is_waiting(m, copy, cycle):
    """Whether a flit that can be seen in a cycle has not passed as a copy."""
    front, slots = front_of(m, copy), channel_slots(m, channel_at(m, copy.channel))
    return copy.passed < depth_of(slots) and front.flit != _NONE and front.cycle <= cycle


@inlined
def note_winner(m, credit, into, place):
    """A copy has passed the switch from an input."""
    credit.copied |= np.int64(1) << into
    m[credit.matches + PORTS_MOST + into] = place


@inner
def pass_along(m, op, times, credit, wanted, cycle):
    """With each copy that has passed go those of the same flit that bid for outputs which nobody has got."""
    inputs = credit.copied
    credit.copied = 0
    while inputs != 0:
        into = lowest_bit(inputs)
        inputs &= inputs - 1
        winner, todo = copy_at(m, m[credit.matches + PORTS_MOST + into]), wanted
        while todo != 0:
            output = lowest_bit(todo)
            todo &= todo - 1
            if m[credit.bids + output] >> into & 1 == 0:
                continue
            place = m[label_of(credit, output, into)]
            copy = copy_at(m, place)
            if copy.is_last < IS_COPY or copy.channel != winner.channel or copy.passed + 1 != winner.passed:
                continue
            m[credit.bids + output] = 0
            if copy.given != _NONE and has_credit(m, copy.given, cycle):
                pass_copy(m, op, times, credit, place, cycle)


@inner
def pass_copy(m, op, times, credit, place, cycle):
    """The next flit of a copy passes the switch; it leaves the buffer if it is the last copy of that flit."""
    copy = copy_at(m, place)
    flit, is_last = copy.flit | front_of(m, copy).flit & 1, copy.is_last & 1 == 1
    onward, given = link_at(m, copy.onward), copy.given
    copy.front = slot_after(channel_slots(m, channel_at(m, copy.channel)), copy.front)
    copy.passed += 1
    if flit & 1:
        copy.is_over = 1
    _leave_buffer(m, credit, channel_at(m, copy.channel), cycle)
    cross(m, op, times, credit, onward, given, flit, is_last, cycle, False)


@inner
def _leave_buffer(m, credit, channel, cycle):
    """The flit at the front of a buffer leaves it if all copies have passed it."""
    first, end = channel.given, channel.given + channel.allowed * COPY_WORDS
    for at in range(first, end, COPY_WORDS):
        if copy_at(m, at).passed == 0:
            return
    for at in range(first, end, COPY_WORDS):
        copy_at(m, at).passed -= 1
    if take_front(m, credit, channel, cycle) & 1:
        channel.onward, channel.given = _NONE, _NONE
        channel.accept = copy_at(m, first).accept
