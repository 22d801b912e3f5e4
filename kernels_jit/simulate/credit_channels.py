"""Allocation of virtual channels in a router with credits: free ones of each output go to heads that ask for one.

The heads that ask stand in `credit.asks`, a record each.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import ASK_WORDS, CHANNEL_WORDS, ask_at, channel_at, link_at
from kernels_jit.layout.records import NEVER
from kernels_jit.simulate.credit_link import channel_of, first_from, front_of, settle

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
    return first_from(some, start if 0 <= start < link.channel_n else 0)


@inlined
def give(m, credit, router, place, ask, index, is_turned, cycle):
    """Give a virtual channel of a link to one that asks; pointers move past each other if `is_turned`."""
    link, channel = link_at(m, place), channel_at(m, ask.channel)
    given = link.channels + index * CHANNEL_WORDS
    channel.given, channel.ready = given, cycle + router.vc_allocation
    link.held |= np.int64(1) << index
    credit.moved = cycle
    if is_turned:
        grant, accept = ask.number + 1, link.outward + index + 1
        channel_at(m, given).grant = 0 if grant == router.inputs_n else grant
        channel.accept = 0 if accept == router.outputs_n else accept


@inlined
def is_asking(m, ask, place):
    """Whether a head asks for a virtual channel of a link and has not got one."""
    channel = channel_at(m, ask.channel)
    return channel.onward == place and channel.given == _NONE


@inlined
def turn_of(m, router, place, index, number):
    """How far an asking one is from the pointer of a virtual channel of a link."""
    turn = number - channel_of(m, link_at(m, place), index).grant
    return turn + router.inputs_n if turn < 0 else turn


@inner
def give_as_granted(m, credit, router, place, asks, cycle):
    """iSLIP: each virtual channel of a link grants one that asks, each of these accepts one; in each iteration."""
    union = np.int64(0)
    for number in range(asks):
        ask = ask_at(m, credit.asks + number * ASK_WORDS)
        if is_asking(m, ask, place):
            union |= ask.free
    for iteration in range(credit.iterations):
        for number in range(asks):
            ask_at(m, credit.asks + number * ASK_WORDS).granted = 0
        granted, todo = False, union & ~link_at(m, place).held
        while todo != 0:
            index = lowest_bit(todo)
            best, at = NEVER, _NONE
            for number in range(asks):
                ask = ask_at(m, credit.asks + number * ASK_WORDS)
                if is_asking(m, ask, place) and ask.free >> index & 1:
                    turn = turn_of(m, router, place, index, ask.number)
                    if turn < best:
                        best, at = turn, number
            if at != _NONE:
                ask_at(m, credit.asks + at * ASK_WORDS).granted |= np.int64(1) << index
                granted = True
            todo &= todo - 1
        if not granted:
            return
        for number in range(asks):
            ask = ask_at(m, credit.asks + number * ASK_WORDS)
            if ask.granted != 0:
                index = first_accepted(m, place, ask, ask.granted)
                give(m, credit, router, place, ask, index, iteration == 0, cycle)


@inner
def give_as_chosen(m, credit, router, place, asks, cycle):
    """Round robin: each head chooses a virtual channel, each of these takes one of the heads that have chosen it."""
    chosen = np.int64(0)
    for number in range(asks):
        ask = ask_at(m, credit.asks + number * ASK_WORDS)
        ask.granted = _NONE
        if is_asking(m, ask, place):
            ask.granted = first_accepted(m, place, ask, ask.free)
            chosen |= np.int64(1) << ask.granted
    while chosen != 0:
        index = lowest_bit(chosen)
        best, at = NEVER, 0
        for number in range(asks):
            ask = ask_at(m, credit.asks + number * ASK_WORDS)
            if ask.granted == index:
                turn = turn_of(m, router, place, index, ask.number)
                if turn < best:
                    best, at = turn, number
        give(m, credit, router, place, ask_at(m, credit.asks + at * ASK_WORDS), index, True, cycle)
        chosen &= chosen - 1


@inner
def give_by_age(m, credit, router, place, asks, cycle):
    """The head that has been longest in its buffer takes the virtual channel with most credits; then the next."""
    link = link_at(m, place)
    for _ in range(asks):
        oldest, best = NEVER, _NONE
        for number in range(asks):
            ask = ask_at(m, credit.asks + number * ASK_WORDS)
            if is_asking(m, ask, place) and ask.free & ~link.held != 0:
                channel = channel_at(m, ask.channel)
                came = front_of(m, channel).cycle
                if came < oldest:
                    oldest, best = came, number
        if best == _NONE:
            return
        ask = ask_at(m, credit.asks + best * ASK_WORDS)
        most, index, todo = -1, 0, ask.free & ~link.held
        while todo != 0:
            other = channel_of(m, link, lowest_bit(todo))
            settle(m, other, cycle)
            if other.credits > most:
                most, index = other.credits, lowest_bit(todo)
            todo &= todo - 1
        give(m, credit, router, place, ask, index, False, cycle)
