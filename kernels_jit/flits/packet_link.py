"""Service of a link that keeps the flits of a packet together, on machines whose links do so.

A link that has begun a packet serves no flit of another before the packet's last, and waits for those that have not come yet.
A free link begins the packet whose first flit came first. docs/engine.md, 13, says why a network still may serve ahead.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.flits.port_queues import insert_source
from kernels_jit.flits.station import (
    choose_port,
    enter_port,
    first_flit,
    first_of_source,
    gather,
    leave_port,
    service_of,
)
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    HOP_WORDS,
    PORT_WORDS,
    STATION_WORDS,
    hop_at,
    port_at,
    source_at,
    state_at,
    station_at,
    transfer_at,
)
from kernels_jit.layout.records import ENDS, FLIT_MASK, FLIT_SHIFT, GATED, NEVER, STRIPED
from kernels_jit.loop.stops import SERVED_ALL

_NONE = codes.NONE


@inner
def serve_packets(m, pool, visit, horizon):
    """Begin all services at a link that are due before the horizon, or known beyond it. Returns as `serve_station` does."""
    state, station = state_at(m, 0), station_at(m, visit.station)
    known_fs, late_fs = max(horizon, state.eager_fs + visit.ahead_fs), horizon + state.slack_fs
    word = state.packets + (visit.station - state.stations) // STATION_WORDS
    why = SERVED_ALL
    while why == SERVED_ALL:
        packet = m[word]
        if packet == _NONE:
            source_fs, source_entry, source_owner = first_of_source(m, station)
            now, at, entry = first_flit(m, station.port, station.port_end, source_fs, source_entry, source_owner)
        else:
            now, at, entry = flit_of_packet(m, station, packet)
        begun = max(now, station.free_fs)
        if now >= known_fs or begun >= late_fs:  # as in `serve_station`; without a flit it is due when one comes
            visit.head_fs = max(now, begun - state.slack_fs // 2)
            break
        if CHECKED:
            assert packet != _NONE or now >= station.served_fs, "a link begins a packet after one that came later"
            if packet == _NONE:
                station.served_fs = now
            state.looked_ahead += now >= horizon
        why = serve_flit(m, pool, station, word, at, entry, begun)
    return why


@inner
def flit_of_packet(m, station, packet):
    """The next flit of a packet that has begun, as `first_flit`; it has not come yet if its time is NEVER.

    The link before kept the packet together too, so the flit is the first of its port.
    """
    for place in range(station.port, station.port_end, PORT_WORDS):
        port = port_at(m, place)
        if port.fs != NEVER and port.entry >> FLIT_SHIFT == packet:
            return port.fs, place, port.entry
    place = station.source
    while place != _NONE:
        source = source_at(m, place)
        if source.entry >> FLIT_SHIFT == packet:
            return source.fs, np.int64(_NONE), source.entry
        place = source.next
    return np.int64(NEVER), np.int64(_NONE), np.int64(0)


@inner
def serve_flit(m, pool, station, word, at, entry, begun):
    """Serve a flit of a port, or of a source if `at` is NONE, from a time on. Returns as `serve_station` does."""
    state, number, left = state_at(m, 0), entry >> FLIT_SHIFT, entry & FLIT_MASK
    place = number * HOP_WORDS
    hop = hop_at(m, place)
    if at == _NONE:
        leave_packet_source(m, station, number)
    else:
        leave_port(m, pool, port_at(m, at))
    transfer, onward = transfer_at(m, hop.transfer), hop.next
    if CHECKED:
        assert onward & (GATED | STRIPED) == 0, "a link that keeps packets together is at a gate or a striped memory"
    m[word] = _NONE if left == 0 or (transfer.flits - left) % state.packet_flits == 0 else number
    service = service_of(m, station, transfer, left)
    station.free_fs = begun + service
    station.busy_fs += service
    station.flits += 1
    state.events += 1
    port, arrival = onward, begun + service + station.propagation_fs
    if onward & ENDS:
        return gather(m, pool, place, left, arrival)
    if left == 0:
        port, arrival = choose_port(m, place, left, arrival)
    return enter_port(m, pool, port_at(m, port), place, onward, entry + (1 << FLIT_SHIFT), arrival)


@inner
def leave_packet_source(m, station, number):
    """The next flit of a source at a link is served: it stands where its next flit says, or is no longer there."""
    place, before = station.source, _NONE
    while source_at(m, place).entry >> FLIT_SHIFT != number:
        place, before = source_at(m, place).next, place
    source = source_at(m, place)
    if before == _NONE:
        station.source = source.next
    else:
        source_at(m, before).next = source.next
        if station.source_last == place:
            station.source_last = before
    if source.entry & FLIT_MASK > 0:
        source.fs += source.pace_fs
        source.entry -= 1
        insert_source(m, station, place)
