"""Hints to the processor what routers will read that are served next in a window of a network with credits.

The state of a network is larger than the first cache, and a router comes to its own through places that it reads one after
the other. So what a router reads first is fetched three turns ahead, what that leads to two turns, one turn and just before.
"""

from __future__ import annotations

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.compile.prefetch import LINE, prefetch
from kernels_jit.layout import codes
from kernels_jit.layout.access import ROUTER_WORDS, channel_at, router_at
from kernels_jit.simulate.credit_lanes import WORD_LANES, busy_lanes, lane_place
from kernels_jit.simulate.credit_link import front_of, next_step
from kernels_jit.simulate.credit_ways import way_place

_NONE = codes.NONE


@inner
def fetch_ahead(m, credit, actor, first, todo):
    """Before an actor is served: fetch what it and the next three read. These are bits of `todo`, of actors from `first` on."""
    if todo != 0:
        fetch_onward(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_channels(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_lanes(m, credit, first + lowest_bit(todo))
    fetch_ways(m, credit, actor)


@inlined
def fetch_lanes(m, credit, actor):
    """Fetch since when the fronts of the lanes of a router can be seen."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for place in range(router.dues, router.dues + router.room, LINE):
            prefetch(m, place)


@inlined
def fetch_channels(m, credit, actor):
    """Fetch the virtual channels of a router that are busy."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for first in range(0, router.room, WORD_LANES):
            todo = busy_lanes(m, router, first)
            while todo != 0:
                place = lane_place(router, first + lowest_bit(todo))
                todo &= todo - 1
                prefetch(m, place)


@inlined
def fetch_onward(m, credit, actor):
    """Fetch the fronts of the buffers of a router that are busy, and the links and virtual channels that they go on to."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for first in range(0, router.room, WORD_LANES):
            todo = busy_lanes(m, router, first)
            while todo != 0:
                channel = channel_at(m, lane_place(router, first + lowest_bit(todo)))
                todo &= todo - 1
                prefetch(m, channel.front)
                prefetch(m, channel.input)
                is_known = channel.given != _NONE
                prefetch(m, choose(is_known, channel.onward, channel.input))
                prefetch(m, choose(is_known, channel.given, channel.input))


@inlined
def fetch_ways(m, credit, actor):
    """Fetch the ways of heads at the fronts of the buffers of a router that are busy."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for first in range(0, router.room, WORD_LANES):
            todo = busy_lanes(m, router, first)
            while todo != 0:
                channel = channel_at(m, lane_place(router, first + lowest_bit(todo)))
                todo &= todo - 1
                prefetch(
                    m,
                    choose(channel.onward == _NONE, way_place(m, next_step(front_of(m, channel).flit)), channel.front),
                )
