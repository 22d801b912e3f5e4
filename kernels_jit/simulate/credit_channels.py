"""Allocation of virtual channels in a router with credits: free ones of each output go to heads that ask for one.

The heads that ask stand in `credit.asks`, a record each.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.layout import codes
from kernels_jit.layout.access import ASK_WORDS, ask_at, channel_at, link_at, sender_at
from kernels_jit.layout.records import NEVER
from kernels_jit.simulate.credit_link import count_credits, first_from, front_of, sender_of

_NONE = codes.NONE


@inlined
def add_ask(m, credit, asks, place, lane, free):
    """The head in a lane asks for one of some free virtual channels; `asks` others do. Returns how many do then."""
    ask = ask_at(m, credit.asks + asks * ASK_WORDS)
    ask.channel, ask.number, ask.free = place, lane, free
    return asks + 1


@inlined
def give_channels(m, credit, router, asks, asked, disputed, cycle):
    """Give free virtual channels of each output to heads that ask for one; several do for the outputs `disputed`, as bits."""
    if credit.allocator == codes.AGE:
        disputed = asked
    elif asked != disputed:
        for number in range(asks):
            ask = ask_at(m, credit.asks + number * ASK_WORDS)
            place = channel_at(m, ask.channel).onward
            if disputed >> link_at(m, place).port & 1 == 0:
                give(m, credit, router, place, ask, first_accepted(m, place, ask, ask.free), True, cycle)
    while disputed != 0:
        place = m[router.outputs + lowest_bit(disputed)]
        disputed &= disputed - 1
        if credit.allocator == codes.AGE:
            give_by_age(m, credit, router, place, asks, cycle)
        elif credit.allocator == codes.ROUND_ROBIN:
            give_as_chosen(m, credit, router, place, asks, cycle)
        else:
            give_as_granted(m, credit, router, place, asks, cycle)


@inlined
def first_accepted(m, place, ask, some):
    """The number of the virtual channel of a link, of some, that comes first for an asking one."""
    link = link_at(m, place)
    start = channel_at(m, ask.channel).accept - link.outward
    return first_from(some, choose((start >= 0) & (start < link.channel_n), start, 0))


@inlined
def give(m, credit, router, place, ask, index, is_turned, cycle):
    """Give a virtual channel of a link to one that asks; pointers move past each other if `is_turned`."""
    link, channel = link_at(m, place), channel_at(m, ask.channel)
    given = sender_of(link, index)
    prefetch(m, sender_at(m, given).back)
    channel.given, channel.ready = given, cycle + router.vc_allocation
    link.held |= np.int64(1) << index
    credit.moved = max(credit.moved, cycle)
    if is_turned:
        grant, accept = ask.number + 1, link.outward + index + 1
        sender_at(m, given).grant = 0 if grant == router.inputs_n else grant
        channel.accept = 0 if accept == router.outputs_n else accept


@inlined
def chain_asks(m, credit, place, asks):
    """Chain the heads that ask for a virtual channel of a link, in their order. Returns the place of the first one."""
    first = _NONE
    for number in range(asks - 1, -1, -1):
        at = credit.asks + number * ASK_WORDS
        ask = ask_at(m, at)
        if channel_at(m, ask.channel).onward == place:
            ask.granted, ask.next, first = 0, first, at
    return first


@inlined
def turn_of(m, router, place, index, number):
    """How far an asking one is from the pointer of a virtual channel of a link."""
    turn = number - sender_at(m, sender_of(link_at(m, place), index)).grant
    return turn + choose(turn < 0, router.inputs_n, 0)


@inner
def give_as_granted(m, credit, router, place, asks, cycle):
    """iSLIP: each virtual channel of a link grants one that asks, each of these accepts one; in each iteration."""
    first, union = chain_asks(m, credit, place, asks), np.int64(0)
    at = first
    while at != _NONE:
        union |= ask_at(m, at).free
        at = ask_at(m, at).next
    for iteration in range(credit.iterations):
        granted, todo = False, union & ~link_at(m, place).held
        while todo != 0:
            index = lowest_bit(todo)
            todo &= todo - 1
            best, to, at = NEVER, _NONE, first
            while at != _NONE:
                ask = ask_at(m, at)
                if channel_at(m, ask.channel).given == _NONE and ask.free >> index & 1:
                    turn = turn_of(m, router, place, index, ask.number)
                    if turn < best:
                        best, to = turn, at
                at = ask.next
            if to != _NONE:
                ask_at(m, to).granted |= np.int64(1) << index
                granted = True
        if not granted:
            return
        at = first
        while at != _NONE:
            ask = ask_at(m, at)
            if ask.granted != 0:
                give(m, credit, router, place, ask, first_accepted(m, place, ask, ask.granted), iteration == 0, cycle)
                ask.granted = 0
            at = ask.next


@inner
def give_as_chosen(m, credit, router, place, asks, cycle):
    """Round robin: each head chooses a virtual channel, each of these takes one of the heads that have chosen it."""
    first, chosen = chain_asks(m, credit, place, asks), np.int64(0)
    at = first
    while at != _NONE:
        ask = ask_at(m, at)
        ask.granted = first_accepted(m, place, ask, ask.free)
        chosen |= np.int64(1) << ask.granted
        at = ask.next
    while chosen != 0:
        index = lowest_bit(chosen)
        chosen &= chosen - 1
        best, to, at = NEVER, first, first
        while at != _NONE:
            ask = ask_at(m, at)
            if ask.granted == index:
                turn = turn_of(m, router, place, index, ask.number)
                if turn < best:
                    best, to = turn, at
            at = ask.next
        give(m, credit, router, place, ask_at(m, to), index, True, cycle)


@inner
def give_by_age(m, credit, router, place, asks, cycle):
    """The head that has been longest in its buffer takes the virtual channel with most credits; then the next."""
    link, first = link_at(m, place), chain_asks(m, credit, place, asks)
    while True:
        oldest, to, at = NEVER, _NONE, first
        while at != _NONE:
            ask = ask_at(m, at)
            channel = channel_at(m, ask.channel)
            if channel.given == _NONE and ask.free & ~link.held != 0:
                came = front_of(m, channel).cycle
                if came < oldest:
                    oldest, to = came, at
            at = ask.next
        if to == _NONE:
            return
        ask = ask_at(m, to)
        most, index, todo = -1, 0, ask.free & ~link.held
        while todo != 0:
            credits = count_credits(m, link, lowest_bit(todo), cycle)
            if credits > most:
                most, index = credits, lowest_bit(todo)
            todo &= todo - 1
        give(m, credit, router, place, ask, index, False, cycle)
