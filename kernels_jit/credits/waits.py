"""What flits of a network with credits wait for, by the link that they want: counted only where `credit.waits` is a place.

A router is looked at before it is served in a cycle, and again after: so the rules of routers are in `router` alone.
For each virtual channel with a flit that can be seen, a cycle is charged to one cause; flits behind the first are queueing.
Where a packet forks, each copy has a front of its own, with the flits of the packet behind it; later packets are behind one.
"""

from __future__ import annotations

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.credits.copies import is_waiting
from kernels_jit.credits.input_vcs import WORD_VCS, input_vc_place, visible_vcs
from kernels_jit.credits.link import (
    allowed_vcs,
    count_flits,
    has_credit,
    held_vcs,
    is_free,
    slot_after,
    vc_slots,
)
from kernels_jit.credits.queue import first_cycle
from kernels_jit.credits.router import compute_route
from kernels_jit.credits.stages import sent_fs
from kernels_jit.credits.vc_states import is_vc_active, is_vc_forked, is_vc_idle
from kernels_jit.layout import codes
from kernels_jit.layout import records as r
from kernels_jit.layout.access import (
    COPY_WORDS,
    FRONT_WORDS,
    STATION_WORDS,
    WAITS_WORDS,
    buffered_at,
    copy_at,
    input_at,
    input_vc_at,
    link_at,
    seen_front_at,
    state_at,
)
from kernels_jit.layout.records import word_of

_NONE = codes.NONE
_LOW = (1 << r.CARRY_SHIFT) - 1
_MOVES, _PIPELINE = word_of(r.WAITS, "moves"), word_of(r.WAITS, "pipeline")
_NO_CHANNEL, _LOST_CHANNEL = word_of(r.WAITS, "no_channel"), word_of(r.WAITS, "lost_channel")
_NO_CREDIT, _LINK_BUSY = word_of(r.WAITS, "no_credit"), word_of(r.WAITS, "link_busy")
_LOST_SWITCH, _QUEUEING = word_of(r.WAITS, "lost_switch"), word_of(r.WAITS, "queueing")
_MEMORY, _SOURCE = word_of(r.WAITS, "memory"), word_of(r.WAITS, "source")


@inlined
def charge(m, credit, link, cause, flits, fs):
    """Charge a time to a cause, for each of the flits that want a link or wait in the buffer behind it."""
    number = (link.station - state_at(m, 0).stations) // STATION_WORDS
    at = credit.waits + number * WAITS_WORDS + cause
    low = m[at] + flits * (fs & _LOW)
    m[at] = low & _LOW
    m[at + r.CARRIED] += flits * (fs >> r.CARRY_SHIFT) + (low >> r.CARRY_SHIFT)


@inner
def look_at_fronts(m, credit, router, cycle):
    """Keep in scratch what the flits at the fronts of a router's buffers wait for if they stay. Returns how many there are."""
    seen = 0
    for first in range(0, router.room, WORD_VCS):
        todo = visible_vcs(m, router, first, cycle)
        while todo != 0:
            vc = first + lowest_bit(todo)
            todo &= todo - 1
            place = input_vc_place(router, vc)
            input_vc = input_vc_at(m, place)
            if is_vc_idle(input_vc):
                compute_route(m, credit, router, input_vc, cycle)
            if not is_vc_forked(input_vc):
                keep_front(m, credit, place, place, count_flits(m, input_vc), True, seen, cycle)
                seen += 1
                continue
            is_first = True
            for number in range(input_vc.allowed):
                at = input_vc.out_vc + number * COPY_WORDS
                copy = copy_at(m, at)
                if copy.is_over == 0 and is_waiting(m, copy, cycle):
                    left = count_flits(m, input_vc) - copy.passed
                    keep_front(m, credit, place, at, left, is_first, seen, cycle)
                    seen, is_first = seen + 1, False
    return seen


@inner
def keep_front(m, credit, place, at, left, is_first, seen, cycle):
    """Keep what the front of an input VC, or of a copy there, waits for; `left` flits have not passed."""
    kept, front = seen_front_at(m, credit.fronts + seen * FRONT_WORDS), input_vc_at(m, at)
    kept.input_vc, kept.at, kept.out_link, kept.left = place, at, front.out_link, left
    kept.behind = count_behind(m, front.front, vc_slots(m, input_vc_at(m, place)), left, is_first, cycle)
    kept.cause = find_cause(m, credit, front, cycle)


@inner
def count_behind(m, place, slots, left, is_first, cycle):
    """How many flits behind a front can be seen in a cycle; of its packet alone, unless `is_first`."""
    for number in range(left):
        buffered = buffered_at(m, place)
        if buffered.cycle > cycle:
            return number - 1
        if buffered.flit & 1 and not is_first:
            return number
        place = slot_after(slots, place)
    return left - 1


@inlined
def count_left(m, place, at):
    """How many flits in the buffer of a virtual channel have not passed, or of these have no copy there that has."""
    left = count_flits(m, input_vc_at(m, place))
    return left if at == place else left - copy_at(m, at).passed


@inner
def find_cause(m, credit, input_vc, cycle):
    """Why the flit at the front of a buffer stays there in a cycle, if it does."""
    if input_vc.ready > cycle:
        return _PIPELINE
    out_link = link_at(m, input_vc.out_link)
    if not is_vc_active(input_vc):
        return (
            _NO_CHANNEL
            if allowed_vcs(m, credit, input_vc) & ~held_vcs(m, credit, out_link, cycle) == 0
            else _LOST_CHANNEL
        )
    if not has_credit(m, input_vc.out_vc, cycle):
        return _NO_CREDIT
    return _LOST_SWITCH if is_free(credit, out_link, cycle) else _LINK_BUSY


@inner
def charge_fronts(m, credit, seen, cycle):
    """The router has been served: charge the cycle to what its fronts waited for, unless they have moved."""
    for number in range(seen):
        kept = seen_front_at(m, credit.fronts + number * FRONT_WORDS)
        out_link, cause = link_at(m, kept.out_link), kept.cause
        if count_left(m, kept.input_vc, kept.at) < kept.left:
            charge(
                m, credit, out_link, _LINK_BUSY, 1, sent_fs(m, out_link) - out_link.full_fs - cycle * credit.cycle_fs
            )
            cause = _MOVES
        elif cause == _LOST_CHANNEL and is_vc_active(input_vc_at(m, kept.at)):
            cause = _PIPELINE
        charge(m, credit, out_link, cause, 1, credit.cycle_fs)
        charge(m, credit, out_link, _QUEUEING, kept.behind, credit.cycle_fs)


@inlined
def charge_source(m, credit, link, flits, fs):
    """The last of some flits that stood before a link since a time traverses it: charge how much later that is than alone."""
    if credit.waits != _NONE:
        since_fs = first_cycle(credit, fs) * credit.cycle_fs
        charge(m, credit, link, _SOURCE, 1, sent_fs(m, link) - flits * link.full_fs - since_fs)


@inlined
def charge_memory(m, credit, input_vc, since, cycle):
    """A flit that could be seen in a buffer of a memory since a cycle leaves it."""
    if credit.waits != _NONE:
        link = link_at(m, input_at(m, input_vc.input).link)
        charge(m, credit, link, _MEMORY, 1, (cycle - since) * credit.cycle_fs)
