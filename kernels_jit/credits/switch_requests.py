"""Requests for the switch of a router with credits. `router` says where they are in the memory."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.credits.link import front_of, has_credit, output_vc_of
from kernels_jit.layout import codes
from kernels_jit.layout.access import input_at, input_vc_at, link_at
from kernels_jit.layout.records import PORTS_MOST

_NONE = codes.NONE
RANK_SHIFT = 6  # a rank ends in the number of a virtual channel
# A candidate is packed as place of its input VC << CANDIDATE_SHIFT | output << PORT_SHIFT | input of the switch.
PORT_SHIFT, CANDIDATE_SHIFT = 6, 12
PORT_MASK = PORTS_MOST - 1


@inner
def any_has_credit(m, link, some, cycle):
    """Whether any of some virtual channels of a link has a credit."""
    while some != 0:
        if has_credit(m, output_vc_of(link, lowest_bit(some)), cycle):
            return True
        some &= some - 1
    return False


@inlined
def request_switch(m, credit, place):
    """The front of an input VC requests its output, unless another at its input comes first. Returns the output's bit."""
    input_vc = input_vc_at(m, place)
    port = input_at(m, input_vc.input)
    into = port.number
    if credit.allocator == codes.AGE:
        rank = front_of(m, input_vc).cycle << RANK_SHIFT | input_vc.index
    else:
        turn = input_vc.index - port.first
        rank = turn + choose(turn < 0, port.vc_n, 0) + choose(input_vc.out_vc == _NONE, PORTS_MOST, 0)
    output = link_at(m, input_vc.out_link).port
    label = request_place(credit, output, into)
    requests = credit.switch_requests + output
    is_better = (m[requests] >> into & 1 == 0) | (rank < m[label + 1])
    m[label], m[label + 1] = choose(is_better, place, m[label]), choose(is_better, rank, m[label + 1])
    m[requests] |= np.int64(1) << into
    return np.int64(1) << output


@inlined
def request_place(credit, output, into):
    """The addresses of the place and the rank of the input VC that requests an output from an input."""
    return credit.switch_requests + PORTS_MOST + 2 * (output * PORTS_MOST + into)


@inlined
def is_speculative(m, credit, output, into):
    """Whether a head that speculates requests an output from an input; not for `allocator: age`."""
    return m[request_place(credit, output, into) + 1] >= PORTS_MOST
