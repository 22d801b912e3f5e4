"""One station: which flit it serves next, for how long, and where that goes on to."""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inlined, inner
from kernels_jit.alone import service_fs
from kernels_jit.prefetch import prefetch
from kernels_jit.queues import has_block, leave_block, note_arrival, owner_of, put, take_block
from kernels_jit.state import (
    BLOCK,
    EVENTS,
    FLIGHT_ARRIVED,
    FLIGHT_END,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_HOPS,
    FLIGHT_LAST_BYTES,
    FLIGHT_LATEST_FS,
    FLIGHT_ROUTE,
    FLIGHT_STRIPE,
    FLIGHT_TAIL_FS,
    FLIGHT_TAIL_STEP,
    FLIT_MASK,
    FLIT_SHIFT,
    HOP_COLUMNS,
    HOP_ENDS,
    HOP_FLAGS,
    HOP_FLIGHT,
    HOP_GATE,
    HOP_GATED,
    HOP_NEXT,
    HOP_OWNER,
    HOP_STRIPED,
    LANDED,
    LANDED_N,
    NEVER,
    PORT_COLUMNS,
    PORT_ENTRY,
    PORT_FS,
    PORT_HEAD,
    PORT_OWNER,
    PORT_RANK,
    PORT_TAIL,
    ROUTE_COLUMNS,
    ROUTE_DIRECTION,
    ROUTES,
    SLACK_FS,
    SOURCE_ENTRY,
    SOURCE_FS,
    SOURCE_NEXT,
    STATION_BUSY_FS,
    STATION_DIRECTION,
    STATION_FLITS,
    STATION_FREE_FS,
    STATION_FULL_FS,
    STATION_PORT,
    STATION_PORT_END,
    STATION_PROPAGATION_FS,
    STATION_SOURCE,
    STATION_TURN_FS,
    STEP_COLUMNS,
    STEP_OVERHEAD_FS,
    STEP_PORT_BEFORE,
    STEP_PORT_OWN,
    STEP_STRIPES,
    STEPS,
    STOP_ENTRY,
    STOP_FLIGHT,
    STOP_FS,
    STOP_PORT,
    STOP_STEP,
    VISIT_AHEAD_FS,
    VISIT_COLUMNS,
    VISIT_HEAD_FS,
    VISIT_STATION,
    VISIT_TURN_FS,
)

_NONE = codes.NONE
SERVED_ALL, GATHERED, FULL = 0, 1, 2  # why `serve_station` came back


@inlined
def serve_station(m, pool, visits, visit, horizon):
    """Begin all services at a station that are due before the horizon, or known beyond it; answers why it stopped.

    SERVED_ALL; GATHERED: all flits of STOP_FLIGHT have come together before STOP_STEP, where they wait for one another;
    FULL: the pool has no block left for STOP_ENTRY at STOP_PORT. Flights that came to their end are in `LANDED`.

    Whatever needs arrays made or flights moved is done outside: hence the stops.
    """
    station, turn = m[visit + VISIT_STATION], m[visit + VISIT_TURN_FS]
    full_fs, propagation = m[station + STATION_FULL_FS], m[station + STATION_PROPAGATION_FS]
    first_port, end_port = m[station + STATION_PORT], m[station + STATION_PORT_END]
    ahead, slack = horizon + m[visit + VISIT_AHEAD_FS], m[SLACK_FS]
    source_fs, source_entry, source_owner = first_of_source(m, station)
    free, busy, served, why = m[station + STATION_FREE_FS], 0, 0, SERVED_ALL
    while why == SERVED_ALL:
        now, at, entry = first_flit(m, first_port, end_port, source_fs, source_entry, source_owner)
        begun = max(now, free)
        if now >= ahead or begun >= horizon + slack:
            m[visit + VISIT_HEAD_FS] = max(now, begun - slack // 2)
            break
        hop = (entry >> FLIT_SHIFT) * HOP_COLUMNS
        onward, left = m[hop + HOP_NEXT], entry & FLIT_MASK
        if at == _NONE:
            source_fs, source_entry, source_owner = leave_source(m, station, hop, source_fs, source_entry, source_owner)
        else:
            leave_port(m, pool, at)
        served += 1
        plain = onward & HOP_FLAGS == 0 and left != 0 and turn == 0  # on to the next station, like most
        service = full_fs if plain else service_of(m, station, m[hop + HOP_FLIGHT], left)
        free, busy = begun + service, busy + service
        port, arrival = onward, free + propagation
        if not plain:
            if onward & HOP_ENDS:
                why = gather(m, hop, left, arrival)
                continue
            port, arrival = choose_port(m, hop, left, arrival)
        why = enter_port(m, pool, visits, port, hop, onward, entry + (1 << FLIT_SHIFT), arrival)
    if source_fs != NEVER:
        m[m[station + STATION_SOURCE] + SOURCE_ENTRY] = source_entry
    m[station + STATION_FREE_FS] = free
    m[station + STATION_BUSY_FS] += busy
    m[station + STATION_FLITS] += served
    m[EVENTS] += served
    return why


@inlined
def first_of_source(m, station):
    """The first of the flits that stand before a station together: since when, or NEVER; packed; its owner."""
    source = m[station + STATION_SOURCE]
    if source == _NONE:
        return NEVER, 0, NEVER
    entry = m[source + SOURCE_ENTRY]
    return m[source + SOURCE_FS], entry, owner_of(m, entry)


@inlined
def first_flit(m, first_port, end_port, now, entry, owner):
    """The earliest of the first flits of ports and of another one: when it came, its port, or NONE for the other; packed."""
    at = _NONE
    for port in range(first_port, end_port, PORT_COLUMNS):
        if m[port + PORT_FS] <= now:
            if m[port + PORT_FS] == now:
                if m[port + PORT_OWNER] > owner or (m[port + PORT_OWNER] == owner and m[port + PORT_ENTRY] < entry):
                    continue
            now, at, entry, owner = m[port + PORT_FS], port, m[port + PORT_ENTRY], m[port + PORT_OWNER]
    return now, at, entry


@inlined
def leave_source(m, station, hop, fs, entry, owner):
    """The first of the flits that stand before a station together is served. Answers the next, as `first_of_source` does.

    Those that stand before a striped memory are served in turn by the stations of its stripes.
    """
    stride = stripes_at(m, hop) if m[hop + HOP_NEXT] & HOP_STRIPED else 1
    if entry & FLIT_MASK >= stride:
        return fs, entry - stride, owner
    m[station + STATION_SOURCE] = m[m[station + STATION_SOURCE] + SOURCE_NEXT]
    return first_of_source(m, station)


@inlined
def leave_port(m, pool, port):
    """The first flit of a port's queue is served."""
    head = m[port + PORT_HEAD]
    if head == m[port + PORT_TAIL]:
        m[port + PORT_FS] = NEVER
        return
    m[port + PORT_FS], m[port + PORT_ENTRY] = pool[head, 0], pool[head, 1]
    m[port + PORT_OWNER] = owner_of(m, pool[head, 1])
    head += 1
    m[port + PORT_HEAD] = head
    if head == m[port + PORT_TAIL] or head & (BLOCK - 1) == 0:
        leave_block(m, pool, port)


@inlined
def service_of(m, station, flight, left):
    """How long a station serves a flit of a flight after which so many come."""
    service = m[station + STATION_FULL_FS]
    if left == 0:
        service = service_fs(m, station, m[flight + FLIGHT_LAST_BYTES])
    if m[station + STATION_TURN_FS] > 0:
        service += turned(m, station, flight)
    return service


@inlined
def step_of(m, hop):
    """The step of a hop."""
    flight = m[hop + HOP_FLIGHT]
    return m[flight + FLIGHT_FIRST] + (hop - flight - FLIGHT_HOPS) // HOP_COLUMNS


@inlined
def gather(m, hop, left, arrival):
    """A flit has come to the destination, or before a node that forwards whole messages. Answers as `serve_station` does."""
    flight, after = m[hop + HOP_FLIGHT], step_of(m, hop) + 1
    m[flight + FLIGHT_LATEST_FS] = max(m[flight + FLIGHT_LATEST_FS], arrival)
    m[flight + FLIGHT_ARRIVED] += 1
    if left == 0:
        m[flight + FLIGHT_TAIL_STEP], m[flight + FLIGHT_TAIL_FS] = after, arrival
    if m[flight + FLIGHT_ARRIVED] < m[flight + FLIGHT_FLITS]:
        return SERVED_ALL
    if after == m[flight + FLIGHT_END]:
        m[m[LANDED] + m[LANDED_N]] = flight
        m[LANDED_N] += 1
        return SERVED_ALL
    m[STOP_FLIGHT], m[STOP_STEP] = flight, after
    return GATHERED


@inlined
def choose_port(m, hop, left, arrival):
    """The port that a flit enters next, and when: the first flit opens the gate of a node with an overhead for all."""
    flight, after, onward = m[hop + HOP_FLIGHT], step_of(m, hop) + 1, m[hop + HOP_NEXT]
    port, step = onward & ~HOP_FLAGS, m[STEPS] + after * STEP_COLUMNS
    if onward & HOP_STRIPED:
        stripe = m[flight + FLIGHT_STRIPE] + m[flight + FLIGHT_FLITS] - 1 - left
        if m[step + STEP_PORT_OWN] > 0:
            port += stripe % m[step + STEP_STRIPES] * m[step + STEP_PORT_OWN] * PORT_COLUMNS
        elif m[step + STEP_PORT_BEFORE] > 0:
            port += stripe % m[step - STEP_COLUMNS + STEP_STRIPES] * PORT_COLUMNS
    if onward & HOP_GATED:
        gate = hop + HOP_COLUMNS + HOP_GATE
        if m[gate] == _NONE:
            m[gate] = arrival + m[step + STEP_OVERHEAD_FS]
        arrival = max(arrival, m[gate])
    if left == 0:
        m[flight + FLIGHT_TAIL_STEP], m[flight + FLIGHT_TAIL_FS] = after, arrival
    return port, arrival


@inlined
def enter_port(m, pool, visits, port, hop, onward, entry, arrival):
    """A flit goes on from a hop to the queue of a port. Answers SERVED_ALL, or FULL if it has no place there."""
    if m[port + PORT_FS] == NEVER:
        prefetch(m, m[hop + HOP_COLUMNS + HOP_NEXT])  # the port after that
        m[port + PORT_FS], m[port + PORT_ENTRY] = arrival, entry
        m[port + PORT_OWNER] = m[hop + HOP_OWNER]
        prefetch(m, m[visits + m[port + PORT_RANK] * VISIT_COLUMNS + VISIT_STATION])
        note_arrival(m, m[port + PORT_RANK], arrival)
        return SERVED_ALL
    slot = m[port + PORT_TAIL]
    if slot & (BLOCK - 1) == 0 and not has_block(m, pool):
        m[STOP_PORT], m[STOP_ENTRY], m[STOP_FS] = port, entry, arrival
        return FULL
    if onward & HOP_GATED:
        if put(m, pool, port, entry, arrival):
            note_arrival(m, m[port + PORT_RANK], arrival)
        return SERVED_ALL
    if slot & (BLOCK - 1) == 0:
        slot = take_block(m, pool, port)
    pool[slot, 0], pool[slot, 1] = arrival, entry
    m[port + PORT_TAIL] = slot + 1
    return SERVED_ALL


@inner
def stripes_at(m, hop):
    """How many stripes the station of a hop has beside it, itself included."""
    return m[m[STEPS] + step_of(m, hop) * STEP_COLUMNS + STEP_STRIPES]


@inner
def turned(m, station, flight):
    """What a memory channel pays for changing direction, if this flit makes it change."""
    direction = m[m[ROUTES] + m[flight + FLIGHT_ROUTE] * ROUTE_COLUMNS + ROUTE_DIRECTION]
    before = m[station + STATION_DIRECTION]
    m[station + STATION_DIRECTION] = direction
    return m[station + STATION_TURN_FS] if before == 1 - direction else 0
