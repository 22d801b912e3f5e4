"""Input VCs: the virtual channels of all links to a router or a memory, and since when the front of each can be seen.

They are compared in groups and without branches: whether a flit is there or on its way is as good as random to a processor.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import GROUP, at_most
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.layout.access import INPUT_VC_WORDS
from kernels_jit.layout.records import NEVER

WORD_VCS = 64


@inlined
def visible_vcs(m, owner, first, cycle):
    """The bits of those of 64 input VCs, from `first` on, whose front can be seen in a cycle."""
    due, vc, end = np.int64(0), first, min(first + WORD_VCS, owner.room)
    while vc < end:  # shorter than a range with steps
        due |= at_most(m, owner.visible_at + vc, cycle) << (vc & WORD_VCS - 1)
        vc += GROUP
    return due


@inlined
def input_vc_place(owner, vc):
    """The place of an input VC of a router or a memory."""
    return owner.input_vcs + vc * INPUT_VC_WORDS


@inlined
def busy_vcs(m, owner, first):
    """As `visible_vcs`, of those that have a flit or to which one is under way."""
    return visible_vcs(m, owner, first, NEVER - 1)


@inner
def next_visible(m, owner, cycle):
    """The first cycle after a cycle since which a front can be seen, or NEVER."""
    first = NEVER
    for vc in range(owner.room):
        seen = m[owner.visible_at + vc]
        first = min(first, seen if seen > cycle else NEVER)
    return first
