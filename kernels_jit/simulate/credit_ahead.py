"""Hints to the processor what routers will read that are served next in a window of a network with credits.

The state of a network is larger than the first cache, and a router comes to its own through places that it reads one after
the other. So what a router reads first is fetched some turns ahead, what that leads to a turn later, and so on: all that
belongs to a router, since most of it is used in one of the windows that are served together.
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
def fetch_ahead(m, credit, first, todo):
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
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for place in range(router.dues, router.dues + router.room, LINE):
            prefetch(m, place)
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
