"""What flits of a network with credits wait for, by the link that they want: counted only where `credit.waits` is a place.

A router is looked at before it is served in a cycle, and again after: so the rules of routers stand in `credit_router` alone.
For each virtual channel with a flit that can be seen, a cycle is charged to one cause; flits behind the first are queueing.
"""

from __future__ import annotations

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.access import (
    BUFFERED_WORDS,
    CHANNEL_WORDS,
    FRONT_WORDS,
    STATION_WORDS,
    WAITS_WORDS,
    buffered_at,
    channel_at,
    link_at,
    seen_front_at,
    state_at,
)
from kernels_jit.layout.records import word_of
from kernels_jit.simulate.credit_link import front_of, has_credit, held_channels, is_free
from kernels_jit.simulate.credit_router import look_up

_NONE = codes.NONE
_MOVES, _PIPELINE = word_of(r.WAITS, "moves"), word_of(r.WAITS, "pipeline")
_NO_CHANNEL, _LOST_CHANNEL = word_of(r.WAITS, "no_channel"), word_of(r.WAITS, "lost_channel")
_NO_CREDIT, _LINK_BUSY = word_of(r.WAITS, "no_credit"), word_of(r.WAITS, "link_busy")
_LOST_SWITCH, _QUEUEING = word_of(r.WAITS, "lost_switch"), word_of(r.WAITS, "queueing")
_MEMORY, _SOURCE = word_of(r.WAITS, "memory"), word_of(r.WAITS, "source")


@inlined
def charge(m, credit, link, cause, fs):
    """A time is spent for a cause, by what wants a link or waits in the buffer behind it."""
    number = (link.station - state_at(m, 0).stations) // STATION_WORDS
    m[credit.waits + number * WAITS_WORDS + cause] += fs


@inner
def look_at_fronts(m, credit, router, cycle):
    """Keep in scratch what the flits at the fronts of a router's buffers wait for if they stay. Returns how many there are."""
    seen = 0
    for port in range(router.ports):
        link = link_at(m, m[router.inputs + port])
        todo = link.busy
        while todo != 0:
            place = link.channels + lowest_bit(todo) * CHANNEL_WORDS
            todo &= todo - 1
            channel = channel_at(m, place)
            front = front_of(m, channel)
            if front.cycle > cycle:
                continue
            if channel.onward == _NONE:
                look_up(m, router, channel, front)
            kept = seen_front_at(m, credit.fronts + seen * FRONT_WORDS)
            kept.channel, kept.onward, kept.n = place, channel.onward, channel.n
            kept.behind, kept.cause = count_behind(m, channel, cycle), find_cause(m, credit, channel, cycle)
            seen += 1
    return seen


@inner
def count_behind(m, channel, cycle):
    """How many flits behind the front of a buffer can be seen in a cycle."""
    for behind in range(channel.n - 1):
        at = channel.first + behind + 1
        at = at - channel.depth if at >= channel.depth else at
        if buffered_at(m, channel.buffer + at * BUFFERED_WORDS).cycle > cycle:
            return behind
    return channel.n - 1


@inner
def find_cause(m, credit, channel, cycle):
    """Why the flit at the front of a buffer stays there in a cycle, if it does."""
    if channel.ready > cycle:
        return _PIPELINE
    onward = link_at(m, channel.onward)
    if channel.given == _NONE:
        return _NO_CHANNEL if channel.allowed & ~held_channels(m, onward, cycle) == 0 else _LOST_CHANNEL
    if not has_credit(m, channel_at(m, channel.given), cycle):
        return _NO_CREDIT
    return _LOST_SWITCH if is_free(credit, onward, cycle) else _LINK_BUSY


@inner
def charge_fronts(m, credit, seen, cycle):
    """The router has been served: charge the cycle to what its fronts waited for, unless they have moved."""
    for number in range(seen):
        kept = seen_front_at(m, credit.fronts + number * FRONT_WORDS)
        channel, onward, cause = channel_at(m, kept.channel), link_at(m, kept.onward), kept.cause
        if channel.n < kept.n:
            charge(m, credit, onward, _LINK_BUSY, onward.free_fs - onward.full_fs - cycle * credit.cycle_fs)
            cause = _MOVES
        elif cause == _LOST_CHANNEL and channel.given != _NONE:
            cause = _PIPELINE
        charge(m, credit, onward, cause, credit.cycle_fs)
        charge(m, credit, onward, _QUEUEING, kept.behind * credit.cycle_fs)


@inlined
def charge_source(m, credit, link, flits, since):
    """The last of some flits that stood before a link since a cycle crosses it: charge how much later that is than alone."""
    if credit.waits != _NONE:
        charge(m, credit, link, _SOURCE, link.free_fs - flits * link.full_fs - since * credit.cycle_fs)


@inlined
def charge_memory(m, credit, link, since, cycle):
    """A flit that could be seen in the buffer of a memory since a cycle leaves it."""
    if credit.waits != _NONE:
        charge(m, credit, link, _MEMORY, (cycle - since) * credit.cycle_fs)
