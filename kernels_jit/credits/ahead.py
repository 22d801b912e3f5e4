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
from kernels_jit.credits.hop_codes import hop_code_place
from kernels_jit.credits.input_vcs import WORD_VCS, busy_vcs, input_vc_place
from kernels_jit.credits.link import front_of, next_step
from kernels_jit.credits.vc_states import is_vc_idle
from kernels_jit.layout.access import (
    INPUT_VC_WORDS,
    INPUT_WORDS,
    OUTPUT_VC_WORDS,
    ROUTER_WORDS,
    input_vc_at,
    link_at,
    output_vc_at,
    router_at,
)


@inlined
def fetch_hop_codes(m, credit, actor):
    """Fetch the hop codes of heads at the fronts of a router's busy buffers."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for first in range(0, router.room, WORD_VCS):
            todo = busy_vcs(m, router, first)
            while todo != 0:
                input_vc = input_vc_at(m, input_vc_place(router, first + lowest_bit(todo)))
                todo &= todo - 1
                code = hop_code_place(m, next_step(front_of(m, input_vc).flit))
                prefetch(m, choose(is_vc_idle(input_vc), code, input_vc.front))


@inner
def fetch_ahead(m, credit, first, todo):
    """Before an actor is served: fetch what belongs to the next four. These are bits of `todo`, of actors from `first` on."""
    if todo != 0:
        fetch_backs(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_output_vcs(m, credit, first + lowest_bit(todo))
        fetch_hop_codes(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_fronts(m, credit, first + lowest_bit(todo))
        todo &= todo - 1
    if todo != 0:
        fetch_rows(m, credit, first + lowest_bit(todo))


@inlined
def fetch_rows(m, credit, actor):
    """Fetch the tables of a router: its row of visible fronts, its input VCs and inputs, and the places of its links."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for place in range(router.visible_at, router.visible_at + router.room, LINE):
            prefetch(m, place)
        for place in range(router.input_vcs, router.input_vcs + router.input_vc_n * INPUT_VC_WORDS, LINE):
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
        for vc in range(router.input_vc_n):
            prefetch(m, input_vc_at(m, input_vc_place(router, vc)).front)


@inlined
def fetch_output_vcs(m, credit, actor):
    """Fetch the output VCs of a router."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for port in range(router.ports):
            link = link_at(m, m[router.outputs + port])
            for place in range(link.output_vcs, link.output_vcs + link.vc_n * OUTPUT_VC_WORDS, LINE):
                prefetch(m, place)


@inlined
def fetch_backs(m, credit, actor):
    """Fetch the slots that flits of a router take next."""
    if actor < credit.router_n:
        router = router_at(m, credit.routers + actor * ROUTER_WORDS)
        for port in range(router.ports):
            link = link_at(m, m[router.outputs + port])
            for index in range(link.vc_n):
                prefetch(m, output_vc_at(m, link.output_vcs + index * OUTPUT_VC_WORDS).back)
