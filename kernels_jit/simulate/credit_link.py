"""Links of a network with credits: credits that come back, virtual channels that are free again, flits that cross."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose, rarely
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    BUFFERED_WORDS,
    CHANNEL_WORDS,
    WAY_WORDS,
    buffered_at,
    channel_at,
    credit_at,
    input_at,
    link_at,
    route_at,
    state_at,
    step_at,
    transfer_at,
    way_at,
)
from kernels_jit.layout.records import NEVER, PLACE_SHIFT, STEP_MASK, WAY_SHIFT
from kernels_jit.simulate.credit_queue import later, queue_transfer
from kernels_jit.simulate.credit_schedule import wake
from kernels_jit.simulate.multicast import land_branch
from kernels_jit.simulate.transfers import deliver

_NONE = codes.NONE


@inlined
def channel_of(m, link, index):
    """A virtual channel of a link."""
    return channel_at(m, link.channels + index * CHANNEL_WORDS)


@inlined
def front_of(m, channel):
    """The slot at the front of the buffer of a virtual channel."""
    return buffered_at(m, channel.front)


@inlined
def slot_after(channel, place):
    """Where the next slot in the buffer of a virtual channel stands."""
    end = channel.buffer + channel.depth * BUFFERED_WORDS
    return choose(place + BUFFERED_WORDS == end, channel.buffer, place + BUFFERED_WORDS)


@inlined
def slot_before(channel, place):
    """Where the slot before stands."""
    end = channel.buffer + channel.depth * BUFFERED_WORDS
    return choose(place == channel.buffer, end, place) - BUFFERED_WORDS


@inlined
def take_front(m, channel, cycle):
    """Take the flit at the front of the buffer of a virtual channel; its credit goes back. Returns it, packed."""
    place, into = channel.front, input_at(m, channel.input)
    front, following = buffered_at(m, place), slot_after(channel, place)
    flit, front.flit = front.flit, _NONE
    channel.front = following
    channel.n -= 1
    after = buffered_at(m, following)
    m[into.dues + channel.index] = choose(after.flit == _NONE, NEVER, after.cycle)
    if CHECKED:
        served = credit_at(m, state_at(m, 0).credit).served
        assert cycle + into.returning >= served, "a credit is back in a cycle that is over"
    return_credit(m, channel, place, cycle + into.returning)
    return flit


@inlined
def has_credit(m, channel, cycle):
    """Whether the sender of a virtual channel has a credit in a cycle."""
    return is_back(m, channel.back, cycle)


@inlined
def is_back(m, place, cycle):
    """Whether the credit of a slot can be used in a cycle."""
    slot = buffered_at(m, place)
    return (slot.flit == _NONE) & (slot.cycle <= cycle)


@inlined
def return_credit(m, channel, place, cycle):
    """The credit of a slot, the last that is free, can be used from a cycle on. Those of others may be back later."""
    before = buffered_at(m, slot_before(channel, place))
    if rarely((before.flit == _NONE) & (before.cycle > cycle)):
        place = make_way(m, channel, place, cycle)
    buffered_at(m, place).cycle = cycle


@inner
def make_way(m, channel, last, cycle):
    """Credits that can be used after a cycle go back by one slot, to the last that is free. Returns the place before them."""
    place, before = last, slot_before(channel, last)
    while before != last and buffered_at(m, before).flit == _NONE and buffered_at(m, before).cycle > cycle:
        buffered_at(m, place).cycle = buffered_at(m, before).cycle
        place, before = before, slot_before(channel, before)
    return place


@inlined
def use_credit(m, channel, cycle):
    """A flit that takes no slot uses a credit of a virtual channel, which can be used again from a cycle on."""
    place, following = channel.back, slot_after(channel, channel.back)
    if rarely(channel.n > 0):
        place = pass_credits(m, channel)
    else:
        channel.front = channel.back = following
    return_credit(m, channel, place, cycle)


@inner
def pass_credits(m, channel):
    """The first credit of a virtual channel with flits is used, and the others go forward. Returns the place of the last."""
    place, following = channel.back, slot_after(channel, channel.back)
    while following != channel.front:
        buffered_at(m, place).cycle = buffered_at(m, following).cycle
        place, following = following, slot_after(channel, following)
    return place


@inner
def count_credits(m, channel, cycle):
    """How many credits the sender of a virtual channel has in a cycle."""
    number, place = 0, channel.back
    while number < channel.depth - channel.n and is_back(m, place, cycle):
        number, place = number + 1, slot_after(channel, place)
    return number


@inlined
def held_channels(m, link, cycle):
    """The bits of the virtual channels of a link that packets have in a cycle."""
    if link.sent != 0:
        release_channels(m, link, cycle)
    return link.held


@inner
def release_channels(m, link, cycle):
    """Virtual channels whose tail has left and whose credits are all back by a cycle are free again."""
    todo = link.sent
    while todo != 0:
        bit = todo & -todo
        channel = channel_of(m, link, lowest_bit(todo))
        if channel.n == 0 and is_back(m, slot_before(channel, channel.back), cycle):
            link.held &= ~bit
            link.sent &= ~bit
        todo &= todo - 1


@inlined
def is_idle(credit, link, cycle):
    """Whether a link has sent the flit before by the end of a cycle."""
    return link.free_fs < (cycle + 1) * credit.cycle_fs


@inlined
def free_by(credit, cycle):
    """When a link has to be free to take a flit from the switch in a cycle; behind a fast switch flits queue."""
    return NEVER if credit.is_queued == 1 else (cycle + 1) * credit.cycle_fs


@inlined
def is_free(credit, link, cycle):
    """Whether a link can take a flit from the switch in a cycle."""
    return link.free_fs < free_by(credit, cycle)


@inlined
def first_from(bits, start):
    """The first of some bits from a number on, round robin; the bits are not 0."""
    later = bits & (np.int64(-1) << start)
    return lowest_bit(choose(later != 0, later, bits))


@inlined
def cross(m, op, times, credit, link, channel, flit, is_last, cycle, is_sent):
    """A flit goes over a link to the buffer of a virtual channel, or to its destination if the link is the last.

    `is_sent`: by a source, and not through the switch.
    """
    crossing = link.sending if is_sent else link.crossing
    state, start = state_at(m, 0), cycle * credit.cycle_fs
    if crossing == 0:
        start = max(start, link.free_fs)
    link.free_fs = start + link.full_fs
    link.flits += 1
    state.events += 1
    credit.moved = max(credit.moved, cycle)
    tail = (flit & 1) << channel.index  # no bit if it is none: whether it is one is hard to guess
    if credit.tail_credit == 1:
        link.sent |= tail
    else:
        link.held &= ~tail
    # Only now, for the sake of the caches: few flits need the times.
    if is_last:
        arrival, ending = start + (link.sending_fs if is_sent else link.crossing_fs), 0 if is_sent else link.ending
        use_credit(m, channel, cycle + ending if ending > 0 else later(credit, arrival + link.credit_fs, cycle))
        end(m, op, times, credit, flit, arrival, cycle)
        return
    if crossing > 0:
        seen = cycle + crossing
    else:
        crossing_fs = link.sending_fs if is_sent else link.crossing_fs
        seen = later(credit, start + crossing_fs + link.overhead_fs, cycle)
    place = channel.back
    if CHECKED:
        assert channel.n < channel.depth, "a buffer holds more flits than its depth"
        assert seen >= credit.served, "a flit can be seen in a cycle that is over"
    buffered = buffered_at(m, place)
    buffered.cycle, buffered.flit = seen, flit
    channel.back = slot_after(channel, place)
    channel.n += 1
    if credit.is_large == 0 or channel.n == 1:  # whether others are there is hard to guess, and it makes no difference
        due = link.dues + channel.index
        m[due] = min(m[due], seen)
        prefetch(m, state.ways + (((flit & STEP_MASK) >> 1) + 1) * WAY_WORDS)  # a head looks there when it is seen
        if seen < m[credit.wakes + link.receiver]:
            wake(m, credit, link.receiver, seen)


@inner
def end(m, op, times, credit, flit, arrival, cycle):
    """A flit ends at its destination, or at a node that forwards whole messages."""
    place, step = flit >> PLACE_SHIFT, (flit & STEP_MASK) >> 1
    transfer = transfer_at(m, place)
    transfer.latest_fs = max(transfer.latest_fs, arrival)
    transfer.arrived += 1
    if rarely(flit & 1 != 0 and credit.outstanding > 0):
        end_packet(m, credit, transfer, arrival, cycle)
    if transfer.arrived < transfer.flits:
        return
    if step + 1 == transfer.end_step:
        if transfer.branch > 0:
            fork_whole(m, op, times, place)
        else:
            deliver(m, op, times, place, transfer.latest_fs)
    else:
        queue_transfer(m, place, step + 1, transfer.latest_fs + step_at(m, step + 1).overhead_fs)


@inner
def fork_whole(m, op, times, place):
    """All flits of a transfer to many are at a node that forwards whole messages, where it forks."""
    transfer = transfer_at(m, place)
    latest_fs, route, place_of_branch = transfer.latest_fs, route_at(m, transfer.route), transfer.branch
    if route.destination != _NONE:
        land_branch(m, op, times, place, latest_fs)
    for _ in range(route.forks):
        branch = transfer_at(m, place_of_branch)
        number = branch.first_step
        queue_transfer(m, place_of_branch, number, latest_fs + step_at(m, number).overhead_fs)
        place_of_branch = branch.next


@inner
def end_packet(m, credit, transfer, arrival, cycle):
    """The source of a packet learns that it has arrived: keep the cycle among those to come, in order."""
    way = way_at(m, transfer.from_step)
    if way.channels == 0:  # the packets of a memory do not count
        return
    source = link_at(m, way.link >> WAY_SHIFT)
    known = later(credit, arrival + route_at(m, transfer.route).propagation_fs, cycle)
    at = source.returned_n
    while at > 0 and m[source.returns + at - 1] > known:
        m[source.returns + at] = m[source.returns + at - 1]
        at -= 1
    m[source.returns + at] = known
    source.returned_n += 1
    wake(m, credit, source.source, known)
