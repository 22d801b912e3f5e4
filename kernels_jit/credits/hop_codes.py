"""Hop codes: where the steps of routes lead in a network with credits, half a word each (see `layout.records`)."""

from __future__ import annotations

from kernels_jit.compile.jit import inlined
from kernels_jit.layout.access import LINK_WORDS, MEMORY_WORDS, link_at, memory_at, state_at
from kernels_jit.layout.records import HOP_CODE_BITS, HOP_CODE_SHIFT, SETS_MOST, VC_SET_SHIFT


@inlined
def hop_code_place(m, number):
    """The word that holds the hop code of a step, and that of another."""
    return state_at(m, 0).hop_codes + (number >> 1)


@inlined
def hop_code_of(m, number):
    """The hop code of a step."""
    return m[hop_code_place(m, number)] >> (number & 1) * HOP_CODE_BITS & (1 << HOP_CODE_BITS) - 1


@inlined
def vc_set_of(hop_code):
    """The number of the set of virtual channels that may be taken at a step; 0: it is a memory."""
    return hop_code >> VC_SET_SHIFT & SETS_MOST - 1


@inlined
def is_at_link(hop_code):
    """Whether a step leads over a link, and not into a memory."""
    return vc_set_of(hop_code) != 0


@inlined
def vcs_on(m, credit, hop_code):
    """The virtual channels that may be taken at a step, as bits; 0: it is a memory."""
    return m[credit.vc_sets + vc_set_of(hop_code)]


@inlined
def link_place(credit, hop_code):
    """The place of the link of a step."""
    return credit.links + (hop_code >> HOP_CODE_SHIFT) * LINK_WORDS


@inlined
def link_on(m, credit, hop_code):
    """The link of a step."""
    return link_at(m, link_place(credit, hop_code))


@inlined
def memory_on(m, credit, hop_code):
    """The memory of a step."""
    return memory_at(m, credit.memories + (hop_code >> HOP_CODE_SHIFT) * MEMORY_WORDS)
