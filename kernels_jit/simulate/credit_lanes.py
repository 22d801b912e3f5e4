"""Lanes: the virtual channels of all inputs of a router or a memory, by number, and since when the front of each can be seen.

They are compared in groups and without branches: whether a flit is there or on its way is as good as random to a processor.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import GROUP, at_most
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.layout.access import CHANNEL_WORDS
from kernels_jit.layout.records import NEVER

WORD_LANES = 64


@inlined
def due_lanes(m, owner, first, cycle):
    """Of 64 lanes of a router or a memory from `first` on the bits of those whose front can be seen in a cycle."""
    due, lane, end = np.int64(0), first, min(first + WORD_LANES, owner.room)
    while lane < end:  # shorter than a range with steps
        due |= at_most(m, owner.dues + lane, cycle) << (lane & WORD_LANES - 1)
        lane += GROUP
    return due


@inlined
def lane_place(owner, lane):
    """The place of the virtual channel of a lane of a router or a memory."""
    return owner.lanes + lane * CHANNEL_WORDS


@inlined
def busy_lanes(m, owner, first):
    """As `due_lanes`, of those that have a flit, or one is under way to them."""
    return due_lanes(m, owner, first, NEVER - 1)


@inner
def next_due(m, owner, cycle):
    """The first cycle after a cycle since which a front can be seen, or NEVER."""
    first = NEVER
    for lane in range(owner.room):
        seen = m[owner.dues + lane]
        first = min(first, seen if seen > cycle else NEVER)
    return first
