"""Copies of packets in routers with credits: where a transfer to many forks, a packet goes on to several links.

Its flits stand in the buffer until all copies have passed them. Each copy has a record that in part is as that of a virtual
channel (`records.COPY`), so it requests a virtual channel and the switch as a packet to one destination does.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.credits.hop_codes import hop_code_of, link_place, vc_set_of
from kernels_jit.credits.link import (
    allowed_vcs,
    depth_of,
    front_of,
    has_credit,
    held_vcs,
    is_free,
    slot_after,
    take_front,
    traverse_link,
    vc_slots,
)
from kernels_jit.credits.switch_requests import any_has_credit, request_place, request_switch
from kernels_jit.credits.vc_allocation import request_vc
from kernels_jit.credits.vc_states import is_vc_active
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    COPY_WORDS,
    copy_at,
    input_at,
    input_vc_at,
    link_at,
    route_at,
    transfer_at,
)
from kernels_jit.layout.records import COPIES, HOP_CODE_ENDS, IS_COPY, NEVER, PLACE_SHIFT, PORTS_MOST

_NONE = codes.NONE


@inner
def begin_copies(m, credit, router, input_vc):
    """The packet at the front of a buffer forks here: it gets a copy for each branch that begins."""
    transfer = transfer_at(m, front_of(m, input_vc).flit >> PLACE_SHIFT)
    branches, place = route_at(m, transfer.route).forks, transfer.branch
    copies = link_at(m, input_at(m, input_vc.input).link).copies
    first = copies + input_vc.index * router.ports * COPY_WORDS
    if CHECKED:
        assert branches <= router.ports, "a packet forks into more branches than its router has links"
    input_vc.out_link, input_vc.out_vc, input_vc.allowed = COPIES, first, branches
    copy_at(m, first).accept = input_vc.accept
    for at in range(first, first + branches * COPY_WORDS, COPY_WORDS):
        branch, copy = transfer_at(m, place), copy_at(m, at)
        hop_code = hop_code_of(m, branch.first_step)
        copy.flit, copy.front, copy.passed, copy.is_over = (
            place << PLACE_SHIFT | branch.first_step << 1,
            input_vc.front,
            0,
            0,
        )
        copy.out_link, copy.is_last, copy.allowed = (
            link_place(credit, hop_code),
            IS_COPY | hop_code & HOP_CODE_ENDS,
            vc_set_of(hop_code),
        )
        copy.out_vc, copy.ready = _NONE, input_vc.ready
        place = branch.next


@inner
def serve_copies(m, credit, vc, input_vc, requests, cycle):
    """Copies at the front of an input VC request output VCs, or the switch: of those that can, the ones furthest behind.

    `requests`: the VC requests so far. Returns how many there are then, and the bits of the outputs that VCs and the switch
    are requested of.
    """
    requested, wanted, able, least = np.int64(0), np.int64(0), np.int64(0), NEVER
    for number in range(input_vc.allowed):
        place = input_vc.out_vc + number * COPY_WORDS
        copy = copy_at(m, place)
        if copy.is_over == 1 or copy.ready > cycle or not is_waiting(m, copy, cycle):
            continue
        out_link = link_at(m, copy.out_link)
        if is_vc_active(copy):
            if is_free(credit, out_link, cycle) and has_credit(m, copy.out_vc, cycle):
                able |= np.int64(1) << number
                least = min(least, copy.passed)
            continue
        free = allowed_vcs(m, credit, copy) & ~held_vcs(m, credit, out_link, cycle)
        if free == 0:
            continue
        requested |= np.int64(1) << out_link.port
        requests = request_vc(m, credit, requests, place, vc, free)
        if credit.speculative == 1 and credit.allocator != codes.AGE:
            if is_free(credit, out_link, cycle) and any_has_credit(m, out_link, free, cycle):
                wanted |= request_switch(m, credit, place)
    while able != 0:
        place = input_vc.out_vc + lowest_bit(able) * COPY_WORDS
        able &= able - 1
        if copy_at(m, place).passed == least:
            wanted |= request_switch(m, credit, place)
    return requests, requested, wanted


@inlined
def is_waiting(m, copy, cycle):
    """Whether a flit that can be seen in a cycle has not passed as a copy."""
    front, slots = front_of(m, copy), vc_slots(m, input_vc_at(m, copy.input_vc))
    return copy.passed < depth_of(slots) and front.flit != _NONE and front.cycle <= cycle


@inlined
def note_winner(m, credit, into, place):
    """A copy has passed the switch from an input."""
    credit.copied |= np.int64(1) << into
    m[credit.matches + PORTS_MOST + into] = place


@inner
def grant_copies_along(m, op, times, credit, wanted, cycle):
    """Grant outputs that nobody has got to copies of flits that have passed as another copy."""
    inputs = credit.copied
    credit.copied = 0
    while inputs != 0:
        into = lowest_bit(inputs)
        inputs &= inputs - 1
        winner, todo = copy_at(m, m[credit.matches + PORTS_MOST + into]), wanted
        while todo != 0:
            output = lowest_bit(todo)
            todo &= todo - 1
            if m[credit.switch_requests + output] >> into & 1 == 0:
                continue
            place = m[request_place(credit, output, into)]
            copy = copy_at(m, place)
            if copy.is_last < IS_COPY or copy.input_vc != winner.input_vc or copy.passed + 1 != winner.passed:
                continue
            m[credit.switch_requests + output] = 0
            if is_vc_active(copy) and has_credit(m, copy.out_vc, cycle):
                traverse_switch_as_copy(m, op, times, credit, place, cycle)


@inner
def traverse_switch_as_copy(m, op, times, credit, place, cycle):
    """The next flit of a copy passes the switch; it leaves the buffer if it is the last copy of that flit."""
    copy = copy_at(m, place)
    if CHECKED:
        assert is_vc_active(copy), "a copy passes the switch without an output VC"
    flit, is_last = copy.flit | front_of(m, copy).flit & 1, copy.is_last & 1 == 1
    out_link, out_vc = link_at(m, copy.out_link), copy.out_vc
    copy.front = slot_after(vc_slots(m, input_vc_at(m, copy.input_vc)), copy.front)
    copy.passed += 1
    if flit & 1:
        copy.is_over = 1
    _leave_buffer(m, credit, input_vc_at(m, copy.input_vc), cycle)
    traverse_link(m, op, times, credit, out_link, out_vc, flit, is_last, cycle, False)


@inner
def _leave_buffer(m, credit, input_vc, cycle):
    """The flit at the front of a buffer leaves it if all copies have passed it."""
    first, end = input_vc.out_vc, input_vc.out_vc + input_vc.allowed * COPY_WORDS
    for at in range(first, end, COPY_WORDS):
        if copy_at(m, at).passed == 0:
            return
    for at in range(first, end, COPY_WORDS):
        copy_at(m, at).passed -= 1
    if take_front(m, credit, input_vc, cycle) & 1:
        input_vc.out_link, input_vc.out_vc = _NONE, _NONE
        input_vc.accept = copy_at(m, first).accept
