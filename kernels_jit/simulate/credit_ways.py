"""Ways: where the steps of routes lead in a network with credits, packed in half a word each (see `layout.records`)."""

from __future__ import annotations

from kernels_jit.compile.jit import inlined
from kernels_jit.layout.access import LINK_WORDS, MEMORY_WORDS, link_at, memory_at, state_at
from kernels_jit.layout.records import CHANNELS_SHIFT, SETS_MOST, WAY_BITS, WAY_SHIFT


@inlined
def way_place(m, number):
    """Where the way of a step stands, with that of another."""
    return state_at(m, 0).ways + (number >> 1)


@inlined
def way_of(m, number):
    """The way of a step, packed."""
    return m[way_place(m, number)] >> (number & 1) * WAY_BITS & (1 << WAY_BITS) - 1


@inlined
def set_of(way):
    """The number of the set of virtual channels that may be taken at a step; 0: it is a memory."""
    return way >> CHANNELS_SHIFT & SETS_MOST - 1


@inlined
def is_at_link(way):
    """Whether a step leads over a link, and not into a memory."""
    return set_of(way) != 0


@inlined
def channels_on(m, credit, way):
    """The virtual channels that may be taken at a step, as bits; 0: it is a memory."""
    return m[credit.channel_sets + set_of(way)]


@inlined
def link_place(credit, way):
    """The place of the link of a step."""
    return credit.links + (way >> WAY_SHIFT) * LINK_WORDS


@inlined
def link_on(m, credit, way):
    """The link of a step."""
    return link_at(m, link_place(credit, way))


@inlined
def memory_on(m, credit, way):
    """The memory of a step."""
    return memory_at(m, credit.memories + (way >> WAY_SHIFT) * MEMORY_WORDS)
