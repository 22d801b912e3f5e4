"""VC allocation in a router with credits: heads request output VCs, and the free ones of each output are granted.

The requests are in `credit.vc_requests`.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.credits.link import count_credits, first_from, front_of, output_vc_of
from kernels_jit.credits.vc_states import is_vc_active, is_vc_waiting
from kernels_jit.layout import codes
from kernels_jit.layout.access import VC_REQUEST_WORDS, input_vc_at, link_at, output_vc_at, vc_request_at
from kernels_jit.layout.records import NEVER

_NONE = codes.NONE


@inlined
def request_vc(m, credit, requests, place, vc, free):
    """The head of an input VC requests one of some free output VCs, after other requests. Returns how many there are."""
    request = vc_request_at(m, credit.vc_requests + requests * VC_REQUEST_WORDS)
    request.input_vc, request.vc, request.free = place, vc, free
    return requests + 1


@inlined
def allocate_vcs(m, credit, router, requests, requested, contended, cycle):
    """Grant free output VCs to heads that request them; `contended`: bits of the outputs with several requests."""
    if credit.allocator == codes.AGE:
        contended = requested
    elif requested != contended:
        for number in range(requests):
            request = vc_request_at(m, credit.vc_requests + number * VC_REQUEST_WORDS)
            place = input_vc_at(m, request.input_vc).out_link
            if contended >> link_at(m, place).port & 1 == 0:
                grant_vc(
                    m, credit, router, place, request, first_accepted(m, place, request, request.free), True, cycle
                )
    while contended != 0:
        place = m[router.outputs + lowest_bit(contended)]
        contended &= contended - 1
        if credit.allocator == codes.AGE:
            allocate_vcs_by_age(m, credit, router, place, requests, cycle)
        elif credit.allocator == codes.ROUND_ROBIN:
            allocate_vcs_round_robin(m, credit, router, place, requests, cycle)
        else:
            allocate_vcs_islip(m, credit, router, place, requests, cycle)


@inlined
def first_accepted(m, place, request, some):
    """The number of the virtual channel of a link, of some, that comes first for a request."""
    link = link_at(m, place)
    start = input_vc_at(m, request.input_vc).accept - link.first_output_vc
    return first_from(some, choose((start >= 0) & (start < link.vc_n), start, 0))


@inlined
def grant_vc(m, credit, router, place, request, index, is_turned, cycle):
    """Grant a virtual channel of a link to a request; pointers move past each other if `is_turned`."""
    link, input_vc = link_at(m, place), input_vc_at(m, request.input_vc)
    if CHECKED:
        assert is_vc_waiting(input_vc, cycle), "a packet gets an output VC and does not wait for one"
        assert link.held >> index & 1 == 0, "two packets hold one virtual channel"
    out_vc = output_vc_of(link, index)
    prefetch(m, output_vc_at(m, out_vc).back)
    input_vc.out_vc, input_vc.ready = out_vc, cycle + router.vc_allocation
    link.held |= np.int64(1) << index
    credit.moved = max(credit.moved, cycle)
    if is_turned:
        grant, accept = request.vc + 1, link.first_output_vc + index + 1
        output_vc_at(m, out_vc).grant = 0 if grant == router.input_vc_n else grant
        input_vc.accept = 0 if accept == router.output_vc_n else accept


@inlined
def chain_requests(m, credit, place, requests):
    """Chain the requests for virtual channels of a link, in their order. Returns the place of the first one."""
    first = _NONE
    for number in range(requests - 1, -1, -1):
        at = credit.vc_requests + number * VC_REQUEST_WORDS
        request = vc_request_at(m, at)
        if input_vc_at(m, request.input_vc).out_link == place:
            request.granted, request.next, first = 0, first, at
    return first


@inlined
def turn_of(m, router, place, index, vc):
    """How far an input VC is from the pointer of a virtual channel of a link."""
    turn = vc - output_vc_at(m, output_vc_of(link_at(m, place), index)).grant
    return turn + choose(turn < 0, router.input_vc_n, 0)


@inner
def allocate_vcs_islip(m, credit, router, place, requests, cycle):
    """iSLIP: each virtual channel of a link grants a request, each head accepts a grant; in each iteration."""
    first, union = chain_requests(m, credit, place, requests), np.int64(0)
    at = first
    while at != _NONE:
        union |= vc_request_at(m, at).free
        at = vc_request_at(m, at).next
    for iteration in range(credit.iterations):
        granted, todo = False, union & ~link_at(m, place).held
        while todo != 0:
            index = lowest_bit(todo)
            todo &= todo - 1
            best, to, at = NEVER, _NONE, first
            while at != _NONE:
                request = vc_request_at(m, at)
                if not is_vc_active(input_vc_at(m, request.input_vc)) and request.free >> index & 1:
                    turn = turn_of(m, router, place, index, request.vc)
                    if turn < best:
                        best, to = turn, at
                at = request.next
            if to != _NONE:
                vc_request_at(m, to).granted |= np.int64(1) << index
                granted = True
        if not granted:
            return
        at = first
        while at != _NONE:
            request = vc_request_at(m, at)
            if request.granted != 0:
                grant_vc(
                    m,
                    credit,
                    router,
                    place,
                    request,
                    first_accepted(m, place, request, request.granted),
                    iteration == 0,
                    cycle,
                )
                request.granted = 0
            at = request.next


@inner
def allocate_vcs_round_robin(m, credit, router, place, requests, cycle):
    """Round robin: each head chooses a virtual channel, each of these takes one of the heads that have chosen it."""
    first, chosen = chain_requests(m, credit, place, requests), np.int64(0)
    at = first
    while at != _NONE:
        request = vc_request_at(m, at)
        request.granted = first_accepted(m, place, request, request.free)
        chosen |= np.int64(1) << request.granted
        at = request.next
    while chosen != 0:
        index = lowest_bit(chosen)
        chosen &= chosen - 1
        best, to, at = NEVER, first, first
        while at != _NONE:
            request = vc_request_at(m, at)
            if request.granted == index:
                turn = turn_of(m, router, place, index, request.vc)
                if turn < best:
                    best, to = turn, at
            at = request.next
        grant_vc(m, credit, router, place, vc_request_at(m, to), index, True, cycle)


@inner
def allocate_vcs_by_age(m, credit, router, place, requests, cycle):
    """The head that has been longest in its buffer takes the virtual channel with most credits; then the next."""
    link, first = link_at(m, place), chain_requests(m, credit, place, requests)
    while True:
        oldest, to, at = NEVER, _NONE, first
        while at != _NONE:
            request = vc_request_at(m, at)
            input_vc = input_vc_at(m, request.input_vc)
            if input_vc.out_vc == _NONE and request.free & ~link.held != 0:
                came = front_of(m, input_vc).cycle
                if came < oldest:
                    oldest, to = came, at
            at = request.next
        if to == _NONE:
            return
        request = vc_request_at(m, to)
        most, index, todo = -1, 0, request.free & ~link.held
        while todo != 0:
            credits = count_credits(m, link, lowest_bit(todo), cycle)
            if credits > most:
                most, index = credits, lowest_bit(todo)
            todo &= todo - 1
        grant_vc(m, credit, router, place, request, index, False, cycle)
