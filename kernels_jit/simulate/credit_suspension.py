"""Taking a long transfer out of a network with credits, and bringing it back (docs/engine.md, "Networks with credits").

A suspended transfer is hidden: its lanes look empty, and its source has nothing to send. When it is resumed, `credit_skip`
adds whole periods, and the cycles after them are served for it alone, with all that belongs to others hidden.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import ROUTER_WORDS, router_at, state_at
from kernels_jit.layout.records import NEVER
from kernels_jit.simulate.credit_actors import serve_actor, serve_cycles
from kernels_jit.simulate.credit_claims import PAUSE, let_go, row_of
from kernels_jit.simulate.credit_link import channel_of, front_of, is_empty
from kernels_jit.simulate.credit_schedule import put_off
from kernels_jit.simulate.credit_skip import skip_periods
from kernels_jit.simulate.credit_state import source_of
from kernels_jit.simulate.credit_ways import is_at_link, link_on, way_of

_NONE = codes.NONE


@inner
def suspend(m, credit, number):
    """The links of a transfer look empty, and its source, too; it is not served before it is due."""
    row = row_of(m, credit, number)
    source = source_of(m, credit, row)
    state_at(m, 0).suspended += 1
    credit.suspended |= np.int64(1) << number
    if source.source < credit.router_n:
        router_of(m, credit, source.source).sources &= ~(np.int64(1) << source.port)
    else:
        put_off(m, credit, source.source, row.due)
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if is_at_link(way):
            link = link_on(m, credit, way)
            hide_link(m, link)
            if link.receiver >= credit.router_n:
                put_off(m, credit, link.receiver, row.due)


@inlined
def router_of(m, credit, actor):
    """The router that an actor is."""
    return router_at(m, credit.routers + actor * ROUTER_WORDS)


@inlined
def hide_link(m, link):
    """The lanes of a link look empty."""
    for index in range(link.channel_n):
        if not is_empty(m, channel_of(m, link, index).front):
            m[link.dues + index] = NEVER


@inlined
def show_link(m, link):
    """The lanes of a link with flits are seen again."""
    for index in range(link.channel_n):
        channel = channel_of(m, link, index)
        if not is_empty(m, channel.front):
            m[link.dues + index] = front_of(m, channel).cycle


@inner
def resume(m, op, times, credit, number, begin):
    """Serve a transfer up to the begin of a cycle: whole periods at once, what is over of the next one by flits."""
    row = row_of(m, credit, number)
    source, periods = source_of(m, credit, row), (begin - row.begin) // row.cycles
    if CHECKED:
        assert row.begin <= begin <= row.due, "a suspended transfer is resumed too late"
    skip_periods(m, credit, number, periods)
    credit.suspended &= ~(np.int64(1) << number)
    if source.source < credit.router_n:
        router_of(m, credit, source.source).sources |= np.int64(1) << source.port
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if is_at_link(way):
            show_link(m, link_on(m, credit, way))
    cycle = row.begin + periods * row.cycles
    while cycle < begin:
        until = min(cycle + credit.window, begin)
        credit.served = until
        serve_alone(m, op, times, credit, number, cycle, until)
        cycle = until
    put_off(m, credit, source.source, begin)
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if is_at_link(way) and link_on(m, credit, way).receiver != _NONE:
            put_off(m, credit, link_on(m, credit, way).receiver, begin)
    credit.next, credit.moved = begin, begin
    let_go(m, credit, number)
    row.pause = PAUSE


@inner
def serve_alone(m, op, times, credit, number, cycle, until):
    """Serve the flits of one transfer in the cycles of a window."""
    row = row_of(m, credit, number)
    source = source_of(m, credit, row)
    if source.source < credit.router_n:
        port = np.int64(1) << source.port
        serve_router_alone(m, op, times, credit, source.source, port, 0, 0, cycle, until)
    else:
        serve_actor(m, op, times, credit, source.source, cycle, until)
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if not is_at_link(way) or link_on(m, credit, way).receiver == _NONE:
            continue
        link = link_on(m, credit, way)
        if link.receiver < credit.router_n:
            none, lane = np.int64(0), link.dues - router_of(m, credit, link.receiver).dues
            serve_router_alone(m, op, times, credit, link.receiver, none, lane, lane + link.channel_n, cycle, until)
        else:
            serve_actor(m, op, times, credit, link.receiver, cycle, until)


@inner
def serve_router_alone(m, op, times, credit, actor, ports, lane, end, cycle, until):
    """Serve a router as if nothing were there but the sources at some ports, as bits, and the lanes from one to another."""
    router = router_of(m, credit, actor)
    others = router.sources & ~ports
    router.sources &= ports
    hide_lanes(m, credit, router, 0, lane)
    hide_lanes(m, credit, router, end, router.room)
    serve_cycles(m, op, times, credit, actor, cycle, until)
    router.sources |= others
    show_lanes(m, credit, router, 0, lane)
    show_lanes(m, credit, router, end, router.room)


@inlined
def hide_lanes(m, credit, router, first, end):
    """The lanes of a router from one to before another look empty."""
    for lane in range(first, end):
        m[credit.hidden + lane], m[router.dues + lane] = m[router.dues + lane], NEVER


@inlined
def show_lanes(m, credit, router, first, end):
    """Lanes that `hide_lanes` has hidden are as they were."""
    for lane in range(first, end):
        if CHECKED:
            assert m[router.dues + lane] == NEVER, "a flit comes to a lane that is hidden"
        m[router.dues + lane] = m[credit.hidden + lane]
