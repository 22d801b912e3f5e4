"""Bids for the switch of a router with credits. `credit_router` says how they stand in the memory."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import channel_at, input_at, link_at
from kernels_jit.layout.records import PORTS_MOST
from kernels_jit.simulate.credit_link import front_of, has_credit, sender_of

_NONE = codes.NONE
RANK_SHIFT = 6  # a rank ends in the number of a virtual channel
# A bidder is packed as place of its virtual channel << BIDDER_SHIFT | output << PORT_SHIFT | input of the switch.
PORT_SHIFT, BIDDER_SHIFT = 6, 12
PORT_MASK = PORTS_MOST - 1


@inner
def have_credit(m, link, some, cycle):
    """Whether any of some virtual channels of a link has a credit."""
    while some != 0:
        if has_credit(m, sender_of(link, lowest_bit(some)), cycle):
            return True
        some &= some - 1
    return False


@inlined
def bid(m, credit, place):
    """The front of a virtual channel bids for its output, unless another at its input comes first. Returns the output's bit."""
    channel = channel_at(m, place)
    port = input_at(m, channel.input)
    into = port.number
    if credit.allocator == codes.AGE:
        rank = front_of(m, channel).cycle << RANK_SHIFT | channel.index
    else:
        turn = channel.index - port.first
        rank = turn + choose(turn < 0, port.channel_n, 0) + choose(channel.given == _NONE, PORTS_MOST, 0)
    output = link_at(m, channel.onward).port
    label = label_of(credit, output, into)
    requests = credit.bids + output
    is_better = (m[requests] >> into & 1 == 0) | (rank < m[label + 1])
    m[label], m[label + 1] = choose(is_better, place, m[label]), choose(is_better, rank, m[label + 1])
    m[requests] |= np.int64(1) << into
    return np.int64(1) << output


@inlined
def label_of(credit, output, into):
    """Where the place and the rank of the virtual channel stand that bids for an output from an input."""
    return credit.bids + PORTS_MOST + 2 * (output * PORTS_MOST + into)


@inlined
def is_guess(m, credit, output, into):
    """Whether what bids for an output from an input is a head that speculates; not for `allocator: age`."""
    return m[label_of(credit, output, into) + 1] >= PORTS_MOST
