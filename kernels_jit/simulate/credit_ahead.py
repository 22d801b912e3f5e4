"""Hints to the processor what routers will read that are served next in a window of a network with credits.

The state of a network is larger than the first cache, and a router comes to its own through places that it reads one after
the other. So what a router reads first is fetched some turns ahead, what that leads to a turn later, and so on. Where windows
are served together, that is all that belongs to a router, since most of it is used in one of them; otherwise what is busy.
"""

from __future__ import annotations

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.compile.prefetch import LINE, prefetch
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    CHANNEL_WORDS,
    INPUT_WORDS,
    ROUTER_WORDS,
    SENDER_WORDS,
    channel_at,
    link_at,
    router_at,
    sender_at,
)
from kernels_jit.simulate.credit_lanes import WORD_LANES, busy_lanes, lane_place
from kernels_jit.simulate.credit_link import front_of, next_step
from kernels_jit.simulate.credit_ways import way_place

_NONE = codes.NONE
NOTHING, BUSY, WHOLE = range(3)  # what is fetched of each router


@inner
def fetch_busy(m, credit, actor, first, todo):
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


@inner
def fetch_whole(m, credit, first, todo):
    """Before an actor is served: fetch what belongs to the next four. These are bits of `todo`, of actors from `first` on."""
    if todo != 0:
        fetch_backs(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_senders(m, credit, first + lowest_bit(todo))
        fetch_ways(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_fronts(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_rows(m, credit, first + lowest_bit(todo))


@inlined
def fetch_rows(m, credit, actor):
    """Fetch what of a router stands side by side: its lanes, virtual channels and inputs, and where its links are."""
    fetch_lanes(m, credit, actor)
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for place in range(router.lanes, router.lanes + router.inputs_n * CHANNEL_WORDS, LINE):
            prefetch(m, place)
        for place in range(router.switch, router.switch + router.ports * credit.input_speedup * INPUT_WORDS, LINE):
            prefetch(m, place)
        prefetch(m, router.outputs)
        prefetch(m, router.outputs + router.ports - 1)


@inlined
def fetch_fronts(m, credit, actor):
    """Fetch the links of a router, and the fronts of all its buffers."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for port in range(router.ports):
            prefetch(m, m[router.outputs + port])
        for lane in range(router.inputs_n):
            prefetch(m, channel_at(m, lane_place(router, lane)).front)


@inlined
def fetch_senders(m, credit, actor):
    """Fetch what a router knows of the virtual channels that it sends to."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for port in range(router.ports):
            link = link_at(m, m[router.outputs + port])
            for place in range(link.senders, link.senders + link.channel_n * SENDER_WORDS, LINE):
                prefetch(m, place)


@inlined
def fetch_backs(m, credit, actor):
    """Fetch the slots that flits of a router take next."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for port in range(router.ports):
            link = link_at(m, m[router.outputs + port])
            for index in range(link.channel_n):
                prefetch(m, sender_at(m, link.senders + index * SENDER_WORDS).back)
