"""Service of one station: the next flit, its service time, and the station or source behind it."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inlined
from kernels_jit.compile.pointers import place_of
from kernels_jit.compile.prefetch import prefetch
from kernels_jit.flits.closed_form import service_fs
from kernels_jit.flits.forks import pass_fork
from kernels_jit.flits.hops import step_of
from kernels_jit.flits.port_queues import (
    append,
    has_block,
    insert_source,
    leave_block,
    note_arrival,
    owner_of,
    put,
)
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    HOP_WORDS,
    PORT_WORDS,
    hop_at,
    port_at,
    route_at,
    slot_at,
    source_at,
    state_at,
    station_at,
    step_at,
    transfer_at,
    visit_at,
)
from kernels_jit.layout.records import BLOCK, ENDS, FLAGS, FLIT_MASK, FLIT_SHIFT, GATED, NEVER, STRIPED
from kernels_jit.loop.stops import FULL, GATHERED, SERVED_ALL

_NONE = codes.NONE


@inlined
def serve_station(m, pool, visit, horizon):
    """Begin all services at a station that are due before the horizon, or known beyond it. Returns why it stopped.

    SERVED_ALL; GATHERED: all flits of `stop_transfer` have come together before `stop_step`, where they wait for one another;
    FULL: the pool has no block left for `stop_entry` at `stop_port`. Transfers that came to their end are in `landed`.

    Whatever needs memory enlarged or transfers moved is done outside: hence the stops.
    """
    state, station = state_at(m, 0), station_at(m, visit.station)
    full_fs, propagation_fs = station.full_fs, station.propagation_fs
    special = FLAGS if visit.turn_fs == 0 else -1  # bits of a way onward that make a flit one of more than a service
    first_port, end_port = station.port, station.port_end
    known_fs, late_fs = max(horizon, state.eager_fs + visit.ahead_fs), horizon + state.slack_fs
    source_fs, source_entry, source_owner = first_of_source(m, station)
    free_fs, more_fs, served, why = station.free_fs, 0, 0, SERVED_ALL
    while why == SERVED_ALL:
        now, at, entry = first_flit(m, first_port, end_port, source_fs, source_entry, source_owner)
        begun = max(now, free_fs)
        # Earlier flits may still come (docs/engine.md, 1), or the slack is used up.
        if now >= known_fs or begun >= late_fs:
            visit.head_fs = max(now, begun - state.slack_fs // 2)
            break
        if CHECKED:
            assert now >= station.served_fs, "a station serves a flit after one that arrived later"
            station.served_fs = now
            assert begun + full_fs >= now, "the time of a service does not fit into a word"
            state.looked_ahead += now >= horizon
        place = (entry >> FLIT_SHIFT) * HOP_WORDS
        hop = hop_at(m, place)
        onward, left = hop.next, entry & FLIT_MASK
        if at == _NONE:
            source_fs, source_entry, source_owner = leave_source(
                m, station, place, source_fs, source_entry, source_owner
            )
        else:
            leave_port(m, pool, port_at(m, at))
        served += 1
        plain = onward & special == 0 and left != 0  # on to the next station, like most
        free_fs, port = begun + full_fs, onward
        if not plain:
            service = service_of(m, station, transfer_at(m, hop.transfer), left)
            free_fs, more_fs = begun + service, more_fs + service - full_fs
        arrival = free_fs + propagation_fs
        if not plain:
            if onward & ENDS:
                why = gather(m, pool, place, left, arrival)
                continue
            port, arrival = choose_port(m, place, left, arrival)
        why = enter_port(m, pool, port_at(m, port), place, onward, entry + (1 << FLIT_SHIFT), arrival)
    if source_fs != NEVER:
        source = source_at(m, station.source)
        source.fs, source.entry = source_fs, source_entry
    station.free_fs = free_fs
    station.busy_fs += served * full_fs + more_fs
    station.flits += served
    state.events += served
    return why


@inlined
def first_of_source(m, station):
    """The first of the flits that begin their way at a station: when it comes, or NEVER; packed; its owner."""
    if station.source == _NONE:
        return NEVER, 0, NEVER
    source = source_at(m, station.source)
    return source.fs, source.entry, owner_of(m, source.entry)


@inlined
def first_flit(m, first_port, end_port, now, entry, owner):
    """The earliest of the first flits of ports and of another one: when it came, its port, or NONE for the other; packed."""
    at, place = _NONE, first_port
    while place < end_port:  # shorter than a range with steps
        port = port_at(m, place)
        if port.fs < now or (port.fs == now and (port.owner < owner or (port.owner == owner and port.entry >= entry))):
            now, at, entry, owner = port.fs, place, port.entry, port.owner
        place += PORT_WORDS
    return now, at, entry


@inlined
def leave_source(m, station, place, fs, entry, owner):
    """The first of the flits that begin their way at a station is served. Returns the next, as `first_of_source` does.

    Those of a striped memory are served in turn by the stations of its stripes.
    """
    stride = step_at(m, step_of(m, place)).stripes if hop_at(m, place).next & STRIPED else 1
    first = station.source
    source = source_at(m, first)
    if entry & FLIT_MASK < stride:
        station.source = source.next
        return first_of_source(m, station)
    fs += source.pace_fs
    entry -= stride
    if source.pace_fs == 0 or source.next == _NONE:
        return fs, entry, owner
    source.fs, source.entry = fs, entry
    station.source = source.next
    insert_source(m, station, first)
    return first_of_source(m, station)


@inlined
def leave_port(m, pool, port):
    """The first flit of a port's queue is served."""
    head = port.head
    if head == port.tail:
        port.fs = NEVER
        return
    slot = slot_at(pool, head)
    port.fs, port.entry = slot.fs, slot.entry
    port.owner = owner_of(m, slot.entry)
    head += 1
    port.head = head
    if head == port.tail or head & (BLOCK - 1) == 0:
        leave_block(m, pool, port)


@inlined
def service_of(m, station, transfer, left):
    """How long a station serves a flit of a transfer, by the number of flits after it."""
    service = station.full_fs
    if left == 0:
        service = service_fs(m, station, transfer.last_bytes)
    if station.turn_fs > 0:
        service += turnaround(m, station, transfer)
    return service


@inlined
def turnaround(m, station, transfer):
    """What a memory channel pays for changing direction, if this flit makes it change."""
    direction, before = route_at(m, transfer.route).direction, station.direction
    station.direction = direction
    return station.turn_fs if before == 1 - direction else 0


@inlined
def gather(m, pool, place, left, arrival):
    """A flit has come to the destination, or before a store-and-forward node. Returns as `serve_station` does."""
    owner, after, state = hop_at(m, place).transfer, step_of(m, place) + 1, state_at(m, 0)
    transfer = transfer_at(m, owner)
    if transfer.branch > 0 and after == transfer.end_step:
        return pass_fork(m, pool, place, left, arrival)
    transfer.latest_fs = max(transfer.latest_fs, arrival)
    transfer.arrived += 1
    if left == 0:
        transfer.tail_step, transfer.tail_fs = after, arrival
    if transfer.arrived < transfer.flits:
        return SERVED_ALL
    if after == transfer.end_step:
        m[state.landed + state.landed_n] = owner
        state.landed_n += 1
        return SERVED_ALL
    state.stop_transfer, state.stop_step = owner, after
    return GATHERED


@inlined
def choose_port(m, place, left, arrival):
    """The port that a flit enters next, and when: the first flit opens the gate of a node with an overhead for all."""
    hop, after = hop_at(m, place), step_of(m, place) + 1
    transfer, step, onward = transfer_at(m, hop.transfer), step_at(m, after), hop.next
    port = onward & ~FLAGS
    if onward & STRIPED:
        stripe = transfer.stripe + transfer.flits - 1 - left
        if step.ports_per_stripe > 0:
            port += stripe % step.stripes * step.ports_per_stripe * PORT_WORDS
        else:
            port += stripe % step_at(m, after - 1).stripes * PORT_WORDS
    if onward & GATED:
        gated = hop_at(m, place + HOP_WORDS)
        if gated.gate_fs == _NONE:
            gated.gate_fs = arrival + step.overhead_fs
        if CHECKED:
            assert arrival + step.overhead_fs >= gated.gate_fs, (
                "a flit comes to a node before the one that opened its gate"
            )
        arrival = max(arrival, gated.gate_fs)
    if left == 0:
        transfer.tail_step, transfer.tail_fs = after, arrival
    return port, arrival


@inlined
def enter_port(m, pool, port, place, onward, entry, arrival):
    """A flit goes on from a hop to the queue of a port. Returns SERVED_ALL, or FULL if it has no place there."""
    if port.fs == NEVER:
        prefetch(m, hop_at(m, place + HOP_WORDS).next)  # the port after that
        port.fs, port.entry = arrival, entry
        port.owner = hop_at(m, place).owner
        prefetch(m, visit_at(m, port.rank).station)
        note_arrival(m, port.rank, arrival)
        return SERVED_ALL
    if port.tail & (BLOCK - 1) == 0 and not has_block(m):
        state = state_at(m, 0)
        state.stop_port, state.stop_entry, state.stop_fs = place_of(m, port), entry, arrival
        state.stop_forks = 0
        return FULL
    if onward & GATED:
        if put(m, pool, port, entry, arrival):
            note_arrival(m, port.rank, arrival)
        return SERVED_ALL
    append(m, pool, port, entry, arrival)
    return SERVED_ALL
