"""The network: stations served in an order in which whatever feeds a station comes before it.

No event queue. A pass visits every station that has flits, once, in channel order (by rank), and begins every service
that is due before a horizon: when its turn comes, everything upstream has been served, so its queues hold all there is,
and it only merges them by (arrival, owner, flit). What has arrived before the horizon may be served well beyond it
(`slack_fs`): then a transfer that stands in a long queue is known to land long before it does, and passes are few; but not
without end, or a long message would fill the queues instead of waiting at its source. And what arrives after the horizon may
be served where no route begins, as far as all that will come is known (`ahead_fs` of a visit). An *eager* pass visits a
station for that alone. A *lazy* one visits only those that must serve before the horizon: where passes are a flit or two apart,
most stations then serve in one visit what has gathered since the last eager pass.

How far a pass may go: nothing may be injected before the horizon. Injections follow from landings, and no transfer lands
before its bound; the smallest bound is the horizon. A transfer that has not landed by its bound gets a new one from what is
left of it. If some edge goes against the order (the graph of channels has cycles), a pass also ends before the soonest
flit could have used such an edge (`window_fs`). docs/engine.md has the proofs.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.flits.closed_form import landing_bound, service_fs
from kernels_jit.flits.forks import copy_flit, release_gathered
from kernels_jit.flits.injection import following_fs
from kernels_jit.flits.multicast import counts_arrivals
from kernels_jit.flits.packet_link import serve_packets
from kernels_jit.flits.port_queues import inject, note_arrival, put
from kernels_jit.flits.station import serve_station
from kernels_jit.flits.transfers import deliver, following_at_fs
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    HOP_WORDS,
    SLOT_WORDS,
    SOURCE_WORDS,
    port_at,
    route_at,
    source_at,
    state_at,
    station_at,
    step_at,
    transfer_at,
    visit_at,
)
from kernels_jit.layout.records import FLIT_MASK, FLIT_SHIFT, GROUP_SHIFT, NEVER
from kernels_jit.loop.clock import after
from kernels_jit.loop.stops import GATHERED, SERVED_ALL, STOPPED, is_enough

_NONE = codes.NONE
THICK = (
    4  # passes in a stretch, a quarter of the most that a station looks ahead, from which on those of the next are lazy
)


@inner
def next_service_fs(m):
    """When the next service is due, or NEVER."""
    state, best = state_at(m, 0), NEVER
    for group in range((state.words - 1 >> GROUP_SHIFT) + 1):
        if m[state.group_fs + group] < best:
            low = NEVER
            for word in range(group << GROUP_SHIFT, min(state.words, group + 1 << GROUP_SHIFT)):
                at = state.word_fs + word
                if m[at] < best:
                    m[at] = _next_of_word(m, word)
                    best = min(best, m[at])
                low = min(low, m[at])
            m[state.group_fs + group] = low
    return best


@inner
def _next_of_word(m, word):
    """When the next service is due at the stations of a word of `pending`, or NEVER."""
    best, todo = NEVER, m[state_at(m, 0).pending + word]
    while todo != 0:
        best = min(best, visit_at(m, word * 64 + lowest_bit(todo)).head_fs)
        todo &= todo - 1
    return best


@inner
def serve_until(m, op, times, horizon, pool):
    """Begin every service due before the horizon, or until enough work is done, or the pool is full.

    Returns SERVED_ALL, STOPPED or FULL. Called again after STOPPED, or after FULL when there is room, it goes on where it was.
    """
    state = state_at(m, 0)
    state.limit_fs = horizon
    while True:
        if state.pass_fs == _NONE:
            if CHECKED:
                assert state.due_fs == next_service_fs(m), "the next service is due at another time than is known"
            if state.due_fs >= horizon:
                return SERVED_ALL
            # Edges against the order take at least the window, so their flits arrive after the pass (docs/engine.md, 1).
            state.pass_fs = min(horizon, state.due_fs + state.window_fs)
            state.at_word, state.at_bit, state.landed_n = 0, 0, 0
            state.passes += 1
            choose_kind(state)
        why = network_pass(m, op, times, state.pass_fs, pool)
        if why != SERVED_ALL:
            return why
        state.pass_fs = _NONE
        state.due_fs = next_service_fs(m)


@inner
def choose_kind(state):
    """Let the pass that begins be eager, unless passes have come thick of late: then the first of a stretch is.

    Any choice is right. In checked runs every third pass is eager, so that tests meet both kinds however far apart they are.
    """
    is_first = state.pass_fs >= state.stretch_fs + (state.ahead_fs >> 2)
    if is_first:
        state.lazy = state.passes - state.stretch_passes >= THICK
        state.stretch_fs, state.stretch_passes = state.pass_fs, state.passes
    is_eager = is_first or state.lazy == 0
    if CHECKED:
        is_eager = state.passes % 3 == 0
    if is_eager and state.pass_fs + state.ahead_fs <= NEVER:  # beyond it no flit can be told from none
        state.eager_fs = state.pass_fs


@inner
def network_pass(m, op, times, horizon, pool):
    """Visit the stations once, in order; each begins all services due before the horizon. Returns as `serve_until`."""
    state = state_at(m, 0)
    while True:
        why = visit_stations(m, pool, horizon)
        if why == SERVED_ALL:
            break
        if why != GATHERED:
            return why
        transfer, step = transfer_at(m, state.stop_transfer), state.stop_step
        if step == _NONE:
            release_gathered(m, transfer)
        else:
            inject(m, transfer, step, transfer.latest_fs + step_at(m, step).overhead_fs)
    # Deliver after the pass: what follows enters the network at the horizon or later (docs/engine.md, 2).
    for k in range(state.landed_n):
        place = m[state.landed + k]
        transfer = transfer_at(m, place)
        if CHECKED:
            assert following_at_fs(m, op, place) >= state.limit_fs, "a transfer lands before its bound"
        deliver(m, op, times, place, transfer.latest_fs)
    return SERVED_ALL


@inner
def put_stopped(m, pool):
    """Put the flit that found the pool full where it was to go, and its copies. Returns whether there is a place for all."""
    state = state_at(m, 0)
    port = port_at(m, state.stop_port)
    if put(m, pool, port, state.stop_entry, state.stop_fs):
        note_arrival(m, port.rank, state.stop_fs)
    forks, left, arrival = state.stop_forks, state.stop_left, state.stop_arrival_fs
    return copy_flit(m, pool, state.stop_branch, forks, left, arrival) == SERVED_ALL


@inner
def visit_stations(m, pool, horizon):
    """Visit the stations in order, from where the last visit was interrupted. Returns as `serve_station` does, or STOPPED."""
    state = state_at(m, 0)
    pending, word_fs, group_fs = state.pending, state.word_fs, state.group_fs
    is_eager = state.eager_fs == horizon
    latest = horizon + state.ahead_fs if is_eager else horizon  # services that are due later need no visit
    skip, word, words = state.at_bit, state.at_word - 1, state.words
    while word + 1 < words:
        word += 1
        if m[group_fs + (word >> GROUP_SHIFT)] >= latest:
            word |= (1 << GROUP_SHIFT) - 1
            continue
        if m[word_fs + word] >= latest:
            continue
        todo = m[pending + word] & np.int64(-1) << skip
        skip = 0
        while todo != 0:
            bit = lowest_bit(todo)
            visit = visit_at(m, word * 64 + bit)
            if visit.head_fs >= (horizon + visit.ahead_fs if is_eager else horizon):
                todo &= todo - 1
                continue
            if is_enough(state):
                state.at_word, state.at_bit = word, bit
                return STOPPED
            state.looks += 1
            prefetch_next_visits(m, pool, word * 64, todo & todo - 1)
            if state.packet_flits > 0:
                why = serve_packets(m, pool, visit, horizon)
            else:
                why = serve_station(m, pool, visit, horizon)
            if why != SERVED_ALL:
                state.at_word, state.at_bit = word, bit
                return why
            if visit.head_fs == NEVER:
                m[pending + word] &= ~(np.int64(1) << bit)
            # Read the bits again: the station may have sent flits to later stations of this word.
            todo = m[pending + word] & np.int64(-2) << bit
    return SERVED_ALL


@inner
def prefetch_next_visits(m, pool, rank, todo):
    """Hint at what the next visits will read: of the next the flits, of the one after that the queues, then the station.

    Arguments: the rank with which a word begins, and a bit for each visit of it that is to come. What leads to a row has
    been hinted at one visit earlier, so that nothing here waits for memory.
    """
    if todo == 0:
        return
    station = station_at(m, visit_at(m, rank + lowest_bit(todo)).station)
    if station.source != _NONE:
        prefetch(m, (source_at(m, station.source).entry >> FLIT_SHIFT) * HOP_WORDS)
    else:
        port = port_at(m, station.port)
        prefetch(m, (port.entry >> FLIT_SHIFT) * HOP_WORDS)
        prefetch(pool, port.head * SLOT_WORDS)
    todo &= todo - 1
    if todo == 0:
        return
    station = station_at(m, visit_at(m, rank + lowest_bit(todo)).station)
    if station.source != _NONE:
        prefetch(m, station.source)
    prefetch(m, station.port)
    todo &= todo - 1
    if todo != 0:
        prefetch(m, visit_at(m, rank + lowest_bit(todo)).station)


@inner
def next_bound(m, op, place, due_fs):
    """A time before which nothing follows from a transfer, or NONE if it has landed; what is due before `due_fs` has begun."""
    transfer = transfer_at(m, place)
    if transfer.branch != 0 and not counts_arrivals(m, op, transfer.job):
        return _next_completion(m, place, due_fs)
    if transfer.from_step == _NONE:
        return _NONE
    landing_fs = _next_landing(m, place, due_fs)
    return landing_fs if transfer.branch != 0 else landing_fs + following_fs(m, op, place)


@inner
def _next_completion(m, place, due_fs):
    """A time before which the ring of a multicast is not complete, or NONE if all its destinations are reached."""
    complete_fs, is_awaited, at = _NONE, False, place
    while True:
        branch = transfer_at(m, at)
        route = route_at(m, branch.route)
        if route.destination != _NONE:
            is_awaited |= branch.from_step != _NONE
            landed_fs = branch.latest_fs if branch.from_step == _NONE else _next_landing(m, at, due_fs)
            complete_fs = max(complete_fs, landed_fs + route.tail_fs)
        at = branch.next
        if at == place:
            return complete_fs if is_awaited else _NONE


@inner
def _next_landing(m, place, due_fs):
    """A time before which a transfer does not land, all services due before `due_fs` having begun.

    Two things hold it up: what has not been gathered must pass the station before, one flit at a time, and the last flit
    must pass every station from where it stands. The rest of the way is that of a transfer that begins there.
    """
    transfer = transfer_at(m, place)
    end, flits, last_bytes = transfer.end_step, transfer.flits, transfer.last_bytes
    together = transfer.from_step + 1
    if (
        together == transfer.first_step and step_at(m, together).store_and_forward == 1
    ):  # of a branch: nothing has come to it
        released = due_fs + step_at(m, together).overhead_fs
        return max(landing_bound(m, together, end, flits, last_bytes, transfer.stripe, released), released)
    while together < end and step_at(m, together).store_and_forward == 0:
        together += 1
    before = step_at(m, together - 1)
    station = station_at(m, before.station)
    rounds = (flits - transfer.arrived + before.stripes - 1) // before.stripes
    passed = after(due_fs, rounds - 1, station.full_fs) + service_fs(m, station, last_bytes)
    gathered = max(transfer.latest_fs, passed, _tail_bound(m, transfer, together, due_fs))
    if together == end:
        return gathered
    released = gathered + step_at(m, together).overhead_fs
    return max(landing_bound(m, together, end, flits, last_bytes, transfer.stripe, released), released)


@inner
def _tail_bound(m, transfer, together, due_fs):
    """A time before which the last flit of a transfer does not come to a step before which its flits are gathered."""
    tail = max(transfer.tail_fs, due_fs)
    if transfer.tail_step == transfer.from_step:
        step = step_at(m, transfer.from_step)
        source = source_at(m, transfer.sources + (transfer.flits - 1) % step.stripes * SOURCE_WORDS)
        before = (source.entry & FLIT_MASK) // step.stripes  # flits that its station still serves before it
        tail = after(max(source.fs, due_fs), before, station_at(m, step.station).full_fs)
    for number in range(transfer.tail_step, together):
        station = station_at(m, step_at(m, number).station)
        tail += service_fs(m, station, transfer.last_bytes) + station.propagation_fs
    return tail
