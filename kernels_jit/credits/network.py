"""The network with credits: routers, memories and sources are served in windows of a few cycles, each for a whole window.

What an actor does in a cycle is seen by another after at least `window` cycles (docs/credits.md, "Windows"). So
within a window actors may be served in any order, and the state of each stays in the cache. In large networks several
windows are served together, level by level, so that it stays there for longer.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit, quotient
from kernels_jit.compile.branches import choose, rarely
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.credits.ahead import fetch_ahead
from kernels_jit.credits.memory import serve_memory
from kernels_jit.credits.router import serve_router
from kernels_jit.credits.schedule import due_actors, end_of_blocks, first_wake, note_block, note_group
from kernels_jit.credits.source import serve_source, serve_sources
from kernels_jit.credits.waits import charge_fronts, look_at_fronts
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    LINK_WORDS,
    MEMORY_WORDS,
    ROUTER_WORDS,
    credit_at,
    event_at,
    link_at,
    memory_at,
    router_at,
    state_at,
    station_at,
)
from kernels_jit.layout.records import BLOCK_ACTORS, GROUP_SHIFT, NEVER
from kernels_jit.loop.stops import is_enough

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


@inlined
def last_cycle_fs(credit):
    """When the last cycle of the next window begins, or NEVER: what comes of the window as events comes later."""
    return NEVER if credit.next == NEVER else (credit.next + credit.window - 1) * credit.cycle_fs


@inner
def serve_windows(m, op, times, event_fs):
    """Serve the windows whose cycles all begin before the next event, until enough work is done.

    Returns whether flits are in a deadlock.
    """
    state = state_at(m, 0)
    credit = credit_at(m, state.credit)
    while credit.next != NEVER and last_cycle_fs(credit) < event_fs and not is_enough(state):
        begin = credit.next
        if begin > credit.served:  # nothing asked in between
            credit.moved = begin
        if begin - credit.moved > credit.patience and state.heap_n == 0:
            return True
        end = begin + credit.window
        windows = windows_together(state, credit, begin, event_fs)
        if windows > 1:
            end = begin + windows * credit.window
            serve_together(m, op, times, credit, begin, windows)
        else:
            credit.served = end
            serve_window(m, op, times, credit, end)
        credit.next = first_wake(m, credit)
        if CHECKED:
            assert credit.next >= end, "an actor has something left to do in a window that is over"
        if state.heap_n > 0:
            event_fs = min(event_fs, event_at(m, state.heap).fs)
    return False


@inlined
def windows_together(state, credit, begin, event_fs):
    """How many windows from a cycle on may be served together: all before the next event, and nothing in them makes one."""
    if credit.together == 1 or state.in_flight != credit.lone:
        return 1
    return min(credit.together, (quotient(event_fs - 1, credit.cycle_fs) + 1 - begin) // credit.window)


@inner
def serve_together(m, op, times, credit, begin, windows):
    """Serve some windows, level after level: a level's first, then the second of the level before it, and so on.

    When a window of a level is served, its neighbours have been served to the end of the window before, and no further than
    to the end of this one (docs/credits.md, "Windows together").
    """
    for diagonal in range(credit.levels + windows - 1):
        for turn in range(max(0, diagonal + 1 - credit.levels), min(windows, diagonal + 1)):
            start = credit.level_starts + diagonal - turn
            end = begin + (turn + 1) * credit.window
            credit.served = end
            for at in range(m[start], m[start + 1]):
                block = m[credit.level_blocks + at]
                if CHECKED:
                    m[credit.block_served + block] = end
                if m[credit.block_wakes + block] < end:
                    serve_block(m, op, times, credit, block, end, choose(turn == 0, credit.is_large, 0))
    for group in range(credit.groups):
        note_group(m, credit, group)


@inner
def serve_window(m, op, times, credit, end):
    """Serve each actor in the cycles of a window, which begins at the first wake."""
    for group in range(credit.groups):
        if m[credit.group_wakes + group] >= end:
            continue
        for block in range(group << GROUP_SHIFT, end_of_blocks(credit, group)):
            if m[credit.block_wakes + block] < end:
                serve_block(m, op, times, credit, block, end, np.int64(0))
        note_group(m, credit, group)


@inner
def serve_block(m, op, times, credit, block, end, is_fetched):
    """Serve the actors of a block that are due in a window; `is_fetched`: 1 if what the next ones read is fetched ahead."""
    todo, served = due_actors(m, credit, block, end), 0
    while todo != 0:
        actor = block * BLOCK_ACTORS + lowest_bit(todo)
        todo &= todo - 1
        if is_fetched == 1:
            fetch_ahead(m, credit, block * BLOCK_ACTORS, todo)
        wake = credit.wakes + actor
        m[wake] = serve_actor(m, op, times, credit, actor, m[wake], end)
        served += credit.window
    state_at(m, 0).looks += served
    note_block(m, credit, block)


@inner
def count_crossings(m):
    """Count at its station what has crossed each link."""
    credit = credit_at(m, state_at(m, 0).credit)
    for number in range(credit.link_n):
        link = link_at(m, credit.links + number * LINK_WORDS)
        if link.flits > 0:
            station = station_at(m, link.station)
            station.flits += link.flits
            station.busy_fs += link.flits * link.full_fs
            link.flits = 0
