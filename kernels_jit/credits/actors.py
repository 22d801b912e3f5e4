"""Actors of a network with credits: a router, a memory or a source is served for some cycles."""

from __future__ import annotations

from kernels_jit.compile.branches import rarely
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.credits.memory import serve_memory
from kernels_jit.credits.router import serve_router
from kernels_jit.credits.source import serve_source, serve_sources
from kernels_jit.credits.waits import charge_fronts, look_at_fronts
from kernels_jit.layout import codes
from kernels_jit.layout.access import LINK_WORDS, MEMORY_WORDS, ROUTER_WORDS, link_at, memory_at, router_at
from kernels_jit.layout.records import NEVER

_NONE = codes.NONE


@inlined
def serve_actor(m, op, times, credit, actor, cycle, end):
    """Serve an actor from a cycle on, before another. Returns the next in which it may have something to do, or NEVER."""
    sources = credit.router_n + credit.memory_n
    if actor < credit.router_n:
        return serve_cycles(m, op, times, credit, actor, cycle, end)
    if actor < sources:
        memory = memory_at(m, credit.memories + (actor - credit.router_n) * MEMORY_WORDS)
        while cycle < end:
            cycle = serve_memory(m, op, times, credit, memory, cycle)
    else:
        link = link_at(m, credit.links + (actor - sources) * LINK_WORDS)
        while cycle < end:
            cycle = serve_source(m, op, times, credit, link, cycle)
    return cycle


@inner
def serve_cycles(m, op, times, credit, actor, cycle, end):
    """As `serve_actor`, for a router."""
    router = router_at(m, credit.routers + actor * ROUTER_WORDS)
    while cycle < end:
        due = NEVER if router.sources == 0 else serve_sources(m, op, times, credit, router, cycle)
        seen = look_at_fronts(m, credit, router, cycle) if rarely(credit.waits != _NONE) else 0
        served, cycle = cycle, min(due, serve_router(m, op, times, credit, router, cycle))
        if rarely(seen > 0):
            charge_fronts(m, credit, seen, served)
            cycle = served + 1
    return cycle
