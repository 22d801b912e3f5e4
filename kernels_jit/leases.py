"""Who has stations to himself: claims of flights, and leases of routes.

A flight that finds all its stations unused takes the lease of its route, and is done in closed form. The lease stays with
the route when the flight has landed: the next flight need not look at the stations, and if it is of the same size, lands
as long after its start as the one before. So a stream of tiles costs the same however long the way. As soon as a flight of
another route comes to one of the stations the lease ends, and a flight that is under way goes on as flits.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.alone import fly, has_form
from kernels_jit.coupling import lease_of, uncouple
from kernels_jit.entry import end_step, enter, first_step
from kernels_jit.state import (
    ALONE_COUNTED,
    ALONE_NOTED,
    FLIGHT_ALONE,
    FLIGHT_CLAIMS,
    FLIGHT_END,
    FLIGHT_FIRST,
    FLIGHT_FLITS,
    FLIGHT_LAST_BYTES,
    FLIGHT_LATEST_FS,
    FLIGHT_ROUTE,
    FLIGHT_STAMP,
    FLIGHT_START_FS,
    FLIGHT_STRIPE,
    FLIT_BYTES,
    LEASE_COLUMNS,
    LEASE_FLIGHT,
    LEASE_FLITS,
    LEASE_HELD,
    LEASE_LANDS_FS,
    LEASE_LAST_BYTES,
    LEASE_PASSED,
    LEASES,
    NOW,
    ROUTE_COLUMNS,
    ROUTE_END,
    ROUTE_N,
    ROUTE_START,
    ROUTES,
    STATION_ALONE,
    STATION_BUSY_FS,
    STATION_COLUMNS,
    STATION_FLITS,
    STATION_FREE_FS,
    STATION_FULL_FS,
    STATION_TURN_FS,
    STATION_USERS,
    STEP_COLUMNS,
    STEP_STATION,
    STEP_STRIPES,
    STEPS,
)

_NONE = codes.NONE


@inner
def take_lease(m, op, times, flight):
    """Whether a flight has its route to itself and can be done in closed form; if not, it claims its stations."""
    first, end = m[flight + FLIGHT_FIRST], m[flight + FLIGHT_END]
    flits, last_bytes = m[flight + FLIGHT_FLITS], m[flight + FLIGHT_LAST_BYTES]
    lease = lease_of(m, flight)
    other = m[lease + LEASE_FLIGHT]
    held = m[lease + LEASE_HELD] == 1 and (other == _NONE or m[other + FLIGHT_LATEST_FS] <= m[NOW])
    known = m[lease + LEASE_FLITS] == flits and m[lease + LEASE_LAST_BYTES] == last_bytes
    if held and (known or has_form(m, first, end, flits, last_bytes)):
        m[lease + LEASE_FLIGHT] = flight
        return True
    if not claim(m, op, times, flight) or not has_form(m, first, end, flits, last_bytes):
        return False
    let_go(m, flight)
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        m[m[at + STEP_STATION] + STATION_ALONE] = m[flight + FLIGHT_ROUTE]
    m[lease + LEASE_HELD], m[lease + LEASE_FLIGHT] = 1, flight
    return True


@inner
def pass_alone(m, flight):
    """Do a flight that has the lease of its route in closed form; answers when it lands.

    What passages with flits of one size leave at each station is a multiple of their number, and noted in the lease.
    """
    first, end, stripe = m[flight + FLIGHT_FIRST], m[flight + FLIGHT_END], m[flight + FLIGHT_STRIPE]
    flits, last_bytes = m[flight + FLIGHT_FLITS], m[flight + FLIGHT_LAST_BYTES]
    start = m[flight + FLIGHT_START_FS]
    lease = lease_of(m, flight)
    if m[lease + LEASE_FLITS] != flits or m[lease + LEASE_LAST_BYTES] != last_bytes:
        if not is_even(m, first, end, flits, last_bytes):
            m[flight + FLIGHT_ALONE] = ALONE_NOTED
            return fly(m, first, end, flits, last_bytes, stripe, start, 1)
        m[lease + LEASE_FLITS], m[lease + LEASE_LAST_BYTES] = flits, last_bytes
        m[lease + LEASE_LANDS_FS] = fly(m, first, end, flits, last_bytes, stripe, start, 0) - start
    m[flight + FLIGHT_ALONE] = ALONE_COUNTED
    m[lease + LEASE_PASSED] += flits
    return start + m[lease + LEASE_LANDS_FS]


@inner
def is_even(m, first, end, flits, last_bytes):
    """Whether a passage leaves the same at all channels of a striped memory, and its last flit as much as any."""
    if last_bytes != m[FLIT_BYTES]:
        return False
    for at in range(m[STEPS] + first * STEP_COLUMNS, m[STEPS] + end * STEP_COLUMNS, STEP_COLUMNS):
        if flits % m[at + STEP_STRIPES] != 0:
            return False
    return True


@inner
def claim(m, op, times, flight):
    """Enter a flight's stations as in use; answers whether it has them to itself. Leases that others have there end.

    The channels of a striped memory are always used together: the first stands for all.
    """
    free, start = True, m[flight + FLIGHT_START_FS]
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        station = m[at + STEP_STATION]
        if m[station + STATION_ALONE] != _NONE:
            end_lease(m, op, times, m[station + STATION_ALONE])
        m[station + STATION_USERS] += 1
        if m[station + STATION_USERS] > 1 or m[station + STATION_TURN_FS] > 0:
            free = False
        for _ in range(m[at + STEP_STRIPES]):
            if m[station + STATION_FREE_FS] > start:
                free = False
            station += STATION_COLUMNS
    m[flight + FLIGHT_CLAIMS] = 1
    return free


@inner
def let_go(m, flight):
    """Take back what a flight claims."""
    for at in range(first_step(m, flight), end_step(m, flight), STEP_COLUMNS):
        m[m[at + STEP_STATION] + STATION_USERS] -= 1
    m[flight + FLIGHT_CLAIMS] = 0


@inner
def give_back(m, flight):
    """A flight uses its stations no longer. A lease stays with the route."""
    if m[flight + FLIGHT_CLAIMS] == 1:
        let_go(m, flight)
    elif m[flight + FLIGHT_ALONE] != 0:
        lease = lease_of(m, flight)
        if m[lease + LEASE_FLIGHT] == flight:
            m[lease + LEASE_FLIGHT] = _NONE


@inner
def end_lease(m, op, times, number):
    """A route is not one flight's alone any longer; one that is under way there goes on as flits.

    It enters the network as it stood at its start: nobody has touched its stations since, so what the network then makes
    of it up to this instant is what the closed form said.
    """
    lease = m[LEASES] + number * LEASE_COLUMNS
    flight = m[lease + LEASE_FLIGHT]
    if flight != _NONE:
        uncouple(m, op, times, flight)
    under_way = flight != _NONE and m[flight + FLIGHT_LATEST_FS] > m[NOW]
    m[lease + LEASE_HELD], m[lease + LEASE_FLIGHT] = 0, _NONE
    for at in range(route_start(m, number), route_end(m, number), STEP_COLUMNS):
        m[m[at + STEP_STATION] + STATION_ALONE] = _NONE
        m[m[at + STEP_STATION] + STATION_USERS] += under_way
    if under_way:
        if m[flight + FLIGHT_ALONE] == ALONE_COUNTED:
            m[lease + LEASE_PASSED] -= m[flight + FLIGHT_FLITS]
        else:
            first, end, stripe = m[flight + FLIGHT_FIRST], m[flight + FLIGHT_END], m[flight + FLIGHT_STRIPE]
            flits, last_bytes = m[flight + FLIGHT_FLITS], m[flight + FLIGHT_LAST_BYTES]
            fly(m, first, end, flits, last_bytes, stripe, m[flight + FLIGHT_START_FS], -1)
        m[flight + FLIGHT_ALONE] = 0
        m[flight + FLIGHT_CLAIMS] = 1
        m[flight + FLIGHT_STAMP] += 1
        enter(m, op, flight)
    settle(m, number)


@inner
def settle(m, number):
    """Put down at the stations of a route what the passages noted in its lease leave there."""
    lease = m[LEASES] + number * LEASE_COLUMNS
    flits = m[lease + LEASE_PASSED]
    if flits == 0:
        return
    m[lease + LEASE_PASSED] = 0
    for at in range(route_start(m, number), route_end(m, number), STEP_COLUMNS):
        share = flits // m[at + STEP_STRIPES]
        station = m[at + STEP_STATION]
        for _ in range(m[at + STEP_STRIPES]):
            m[station + STATION_FLITS] += share
            m[station + STATION_BUSY_FS] += share * m[station + STATION_FULL_FS]
            station += STATION_COLUMNS


@inner
def settle_all(m):
    """Put down what all leases have noted."""
    for number in range(m[ROUTE_N]):
        settle(m, number)


@inner
def route_start(m, number):
    """Where the steps of a route begin."""
    return m[STEPS] + m[m[ROUTES] + number * ROUTE_COLUMNS + ROUTE_START] * STEP_COLUMNS


@inner
def route_end(m, number):
    """Where the steps of a route end."""
    return m[STEPS] + m[m[ROUTES] + number * ROUTE_COLUMNS + ROUTE_END] * STEP_COLUMNS
