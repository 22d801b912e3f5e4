"""Links of a network with credits: credits that come back, virtual channels that are free again, flits that traverse them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kernels_jit.compile.bits import lowest_bit, quotient
from kernels_jit.compile.branches import choose, rarely
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.credits.hop_codes import hop_code_of, hop_code_place, is_at_link, link_on
from kernels_jit.credits.queue import later, queue_transfer
from kernels_jit.credits.schedule import wake
from kernels_jit.credits.stages import pass_crossbar
from kernels_jit.flits.multicast import land_branch
from kernels_jit.flits.transfers import deliver
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    BUFFERED_WORDS,
    OUTPUT_VC_WORDS,
    buffered_at,
    input_at,
    output_vc_at,
    route_at,
    state_at,
    step_at,
    transfer_at,
)
from kernels_jit.layout.records import NEVER, PLACE_SHIFT, STEP_MASK

_NONE = codes.NONE


class Slots(NamedTuple):
    """The slots of a buffer, a ring: the places of the first and after the last."""

    first: int
    end: int


@inlined
def slots_of(port, index):
    """The slots of a virtual channel, by its number, of an input or a link."""
    first = port.buffers + index * port.buffer_words
    return Slots(first, first + port.buffer_words)


@inlined
def vc_slots(m, input_vc):
    """The slots of a virtual channel."""
    return slots_of(input_at(m, input_vc.input), input_vc.index)


@inlined
def index_of(link, out_vc):
    """The number of a virtual channel of a link, by the place of its OUTPUT_VC."""
    return quotient(out_vc - link.output_vcs, OUTPUT_VC_WORDS)


@inlined
def output_vc_of(link, index):
    """The place of the OUTPUT_VC of a virtual channel of a link."""
    return link.output_vcs + index * OUTPUT_VC_WORDS


@inlined
def allowed_vcs(m, credit, input_vc):
    """The bits of the virtual channels that the packet at the front of a virtual channel, or a copy of it, may take."""
    return m[credit.vc_sets + input_vc.allowed]


@inlined
def front_of(m, input_vc):
    """The slot at the front of the buffer of a virtual channel."""
    return buffered_at(m, input_vc.front)


@inlined
def next_step(flit):
    """The number of the step after that of a flit."""
    return ((flit & STEP_MASK) >> 1) + 1


@inlined
def slot_after(slots, place):
    """The place of the next slot in a buffer."""
    return choose(place + BUFFERED_WORDS == slots.end, slots.first, place + BUFFERED_WORDS)


@inlined
def slot_before(slots, place):
    """The place of the slot before."""
    return choose(place == slots.first, slots.end, place) - BUFFERED_WORDS


@inlined
def depth_of(slots):
    """How many slots a buffer has."""
    return quotient(slots.end - slots.first, BUFFERED_WORDS)


@inlined
def is_empty(m, place):
    """Whether a slot has no flit."""
    return buffered_at(m, place).flit == _NONE


@inner
def count_flits(m, input_vc):
    """How many flits are in the buffer of a virtual channel."""
    number, place, slots = 0, input_vc.front, vc_slots(m, input_vc)
    while number < depth_of(slots) and not is_empty(m, place):
        number, place = number + 1, slot_after(slots, place)
    return number


@inlined
def take_front(m, credit, input_vc, cycle):
    """Take the flit at the front of the buffer of a virtual channel; its credit goes back. Returns it, packed."""
    place, into = input_vc.front, input_at(m, input_vc.input)
    slots, back = slots_of(into, input_vc.index), cycle + into.returning
    front, following = buffered_at(m, place), slot_after(slots, place)
    flit, front.flit = front.flit, _NONE
    input_vc.front = following
    after = buffered_at(m, following)
    m[into.visible_at + input_vc.index] = choose(after.flit == _NONE, NEVER, after.cycle)
    if CHECKED:
        assert back >= credit.served, "a credit is back in a cycle that is over"
    if rarely(credit.is_shuffled == 1):
        return_credit(m, slots, place, back)
    else:
        if CHECKED:
            before = buffered_at(m, slot_before(slots, place))
            assert before.flit != _NONE or before.cycle <= back, "a credit is back before that of an earlier flit"
        front.cycle = back
    return flit


@inlined
def has_credit(m, place, cycle):
    """Whether the sender of a virtual channel has a credit in a cycle that it may know of."""
    output_vc = output_vc_at(m, place)
    if CHECKED:
        assert output_vc.credited == 0 or is_back(m, output_vc.back, cycle), (
            "a sender knows of a credit that is not back"
        )
    return output_vc.credited != 0 or is_back(m, output_vc.back, cycle)


@inlined
def note_credit(m, credit, output_vc, back, cycle):
    """In a large network the sender of a virtual channel notes whether it has a credit for the next slot."""
    if credit.is_noted == 1:
        output_vc.credited = is_back(m, back, cycle)


@inlined
def is_back(m, place, cycle):
    """Whether the credit of a slot can be used in a cycle."""
    slot = buffered_at(m, place)
    return (slot.flit == _NONE) & (slot.cycle <= cycle)


@inlined
def return_credit(m, slots, place, cycle):
    """The credit of a slot, the last that is free, can be used from a cycle on. Those of others may be back later."""
    before = buffered_at(m, slot_before(slots, place))
    if rarely((before.flit == _NONE) & (before.cycle > cycle)):
        place = shift_credits_back(m, slots, place, cycle)
    buffered_at(m, place).cycle = cycle


@inner
def shift_credits_back(m, slots, last, cycle):
    """Credits that can be used after a cycle go back by one slot, to the last that is free. Returns the place before them."""
    place, before = last, slot_before(slots, last)
    while before != last and is_empty(m, before) and buffered_at(m, before).cycle > cycle:
        buffered_at(m, place).cycle = buffered_at(m, before).cycle
        place, before = before, slot_before(slots, before)
    return place


@inlined
def use_credit(m, credit, link, index, output_vc, cycle, later_cycle):
    """A flit that takes no slot uses a credit of a virtual channel, which can be used again from a later cycle on."""
    place, slots = output_vc.back, slots_of(link, index)
    if link.receiver == _NONE:
        output_vc.back = slot_after(slots, place)
    else:
        place = shift_credits_forward(m, slots, place)
    return_credit(m, slots, place, later_cycle)
    note_credit(m, credit, output_vc, output_vc.back, cycle)


@inner
def shift_credits_forward(m, slots, back):
    """The first credit of a virtual channel, at `back`, is used, and the others go forward. Returns the place of the last."""
    place, following = back, slot_after(slots, back)
    while following != back and is_empty(m, following):
        buffered_at(m, place).cycle = buffered_at(m, following).cycle
        place, following = following, slot_after(slots, following)
    return place


@inner
def count_credits(m, link, index, cycle):
    """How many credits the sender of a virtual channel of a link has in a cycle."""
    number, place, slots = 0, output_vc_at(m, output_vc_of(link, index)).back, slots_of(link, index)
    while number < depth_of(slots) and is_back(m, place, cycle):
        number, place = number + 1, slot_after(slots, place)
    return number


@inlined
def held_vcs(m, credit, link, cycle):
    """The bits of the virtual channels of a link that packets have in a cycle."""
    if rarely(credit.tail_credit == 1) and link.sent != 0:
        release_vcs(m, link, cycle)
    return link.held


@inner
def release_vcs(m, link, cycle):
    """Virtual channels whose tail has left and whose credits are all back by a cycle are free again."""
    todo = link.sent
    while todo != 0:
        bit, index = todo & -todo, lowest_bit(todo)
        back = output_vc_at(m, output_vc_of(link, index)).back
        if is_back(m, slot_before(slots_of(link, index), back), cycle):
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
def traverse_link(m, op, times, credit, link, out_vc, flit, is_last, cycle, is_sent):
    """A flit goes over a link to the buffer of a virtual channel, or to its destination if the link is the last.

    `out_vc`: the place of the OUTPUT_VC of that channel.
    `is_sent`: by a source, and not through the switch.
    """
    crossing = link.sending if is_sent else link.crossing
    output_vc, index = output_vc_at(m, out_vc), index_of(link, out_vc)
    state, start = state_at(m, 0), cycle * credit.cycle_fs
    if CHECKED:
        assert link.held >> index & 1 == 1, "a flit takes a virtual channel that its packet does not hold"
    if crossing == 0:
        start = min(max(start, link.free_fs), NEVER)
    link.free_fs = start + link.full_fs
    if rarely(link.stages != 0):
        start = pass_crossbar(m, link, cycle * credit.cycle_fs, is_sent)
    link.flits += 1
    state.events += 1
    credit.moved = max(credit.moved, cycle)
    tail = (flit & 1) << index  # no bit if it is none: whether it is one is hard to guess
    if credit.tail_credit == 1:
        link.sent |= tail
    else:
        link.held &= ~tail
    # Only now, for the sake of the caches: few flits need the times.
    if is_last:
        arrival, ending = start + (link.sending_fs if is_sent else link.crossing_fs), 0 if is_sent else link.ending
        back = cycle + ending if ending > 0 else later(credit, arrival + link.credit_fs, cycle)
        use_credit(m, credit, link, index, output_vc, cycle, back)
        end(m, op, times, credit, flit, arrival, cycle)
        return
    if crossing > 0:
        seen = cycle + crossing
    else:
        crossing_fs = link.sending_fs if is_sent else link.crossing_fs
        seen = later(credit, start + crossing_fs + link.overhead_fs, cycle)
    place, due = output_vc.back, link.visible_at + index
    if CHECKED:
        assert is_empty(m, place), "a buffer holds more flits than its depth"
        assert seen >= credit.served, "a flit can be seen in a cycle that is over"
    buffered = buffered_at(m, place)
    buffered.cycle, buffered.flit = seen, flit
    following = slot_after(slots_of(link, index), place)
    output_vc.back = following
    note_credit(m, credit, output_vc, following, cycle)
    m[due] = min(m[due], seen)  # of a buffer with other flits, too: whether there are any is hard to guess
    prefetch(m, hop_code_place(m, next_step(flit)))  # a head looks there when it is seen
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
    hop_code = hop_code_of(m, transfer.from_step)
    if not is_at_link(hop_code):  # the packets of a memory do not count
        return
    source = link_on(m, credit, hop_code)
    known = later(credit, arrival + route_at(m, transfer.route).propagation_fs, cycle)
    at = source.returned_n
    while at > 0 and m[source.returns + at - 1] > known:
        m[source.returns + at] = m[source.returns + at - 1]
        at -= 1
    m[source.returns + at] = known
    source.returned_n += 1
    wake(m, credit, source.source, known)
