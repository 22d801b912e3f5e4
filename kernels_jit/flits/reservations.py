"""Exclusive use of routes: reservations let uncontended transfers use the closed form.

A transfer that finds all its stations unused reserves its route, and is done in closed form. The reservation stays with
the route when the transfer has landed: the next one need not look at the stations, and if it is of the same size, lands
as long after its start as the one before. So a stream of tiles costs the same however long the way. As soon as a transfer of
another route comes to one of the stations the reservation is revoked, and a transfer that is under way goes on as flits.
"""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.flits.closed_form import ADD, KEEP, REMOVE, has_closed_form, uncontended_end
from kernels_jit.flits.injection import enter
from kernels_jit.flits.transfer_batches import split_batch
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    STATION_WORDS,
    reservation_at,
    route_at,
    state_at,
    station_at,
    step_at,
    transfer_at,
)
from kernels_jit.layout.records import COUNTED, NEVER, NOTED
from kernels_jit.loop.clock import after

_NONE = codes.NONE


@inner
def try_reserve(m, op, times, place):
    """Whether a transfer has its route to itself and can be done in closed form; if not, its stations count it as a user."""
    transfer, state = transfer_at(m, place), state_at(m, 0)
    first, flits, last_bytes = transfer.first_step, transfer.flits, transfer.last_bytes
    reservation = reservation_at(m, transfer.route)
    other = reservation.transfer
    held = reservation.held == 1 and (other == _NONE or transfer_at(m, other).latest_fs <= state.now_fs)
    closed = has_closed_form(m, first, flits, last_bytes)
    # The transfer before has landed, so all stations of the route are free again (docs/engine.md, 6).
    if held and closed:
        reservation.transfer = place
        return True
    if not mark_in_use(m, op, times, transfer) or not closed:
        return False
    unmark_in_use(m, transfer)
    for number in range(first, transfer.end_step):
        station_at(m, step_at(m, number).station).reserved = transfer.route
    reservation.held, reservation.transfer = 1, place
    state.reserved += 1
    return True


@inner
def finish_in_closed_form(m, transfer):
    """Do a transfer that has its route reserved in closed form. Returns when it lands.

    What transfers of even flits leave at each station is a multiple of their number, and counted in the reservation.
    """
    first, end, stripe = transfer.first_step, transfer.end_step, transfer.stripe
    flits, last_bytes, start = transfer.flits, transfer.last_bytes, transfer.start_fs
    reservation = reservation_at(m, transfer.route)
    state_at(m, 0).closed += 1
    if CHECKED:
        check_unused(m, transfer)
    if reservation.flits != flits or last_bytes != state_at(m, 0).flit_bytes:
        if not is_even(m, first, end, flits, last_bytes):
            transfer.closed = NOTED
            return uncontended_end(m, first, end, flits, last_bytes, stripe, start, ADD)
        reservation.flits = flits
        reservation.lands_fs = uncontended_end(m, first, end, flits, last_bytes, stripe, start, KEEP) - start
    latest_fs = after(start, 1, reservation.lands_fs)
    if latest_fs >= NEVER:  # its stations are busy beyond the clock: only those that it comes to are counted
        transfer.closed = NOTED
        return uncontended_end(m, first, end, flits, last_bytes, stripe, start, ADD)
    transfer.closed = COUNTED
    reservation.passed += flits
    return latest_fs


@inner
def check_unused(m, transfer):
    """Assert that no station of a transfer has a user or a service at its start."""
    for number in range(transfer.first_step, transfer.end_step):
        step = step_at(m, number)
        for stripe in range(step.stripes):
            station = station_at(m, step.station + stripe * STATION_WORDS)
            assert station.users == 0, "a station that is reserved has a user"
            assert station.free_fs <= transfer.start_fs, "a station that is reserved still serves a flit"
            assert stripe > 0 or station.reserved == transfer.route, "a route in use is not reserved"


@inner
def is_even(m, first, end, flits, last_bytes):
    """Whether a transfer leaves the same at all channels of a striped memory, and its last flit as much as any."""
    if last_bytes != state_at(m, 0).flit_bytes:
        return False
    for number in range(first, end):
        if flits % step_at(m, number).stripes != 0:
            return False
    return True


@inner
def mark_in_use(m, op, times, transfer):
    """Count a transfer as a user of its stations and revoke reservations there. Returns whether it has them to itself.

    The channels of a striped memory are always used together: the first represents all.
    """
    free = True
    for number in range(transfer.first_step, transfer.end_step):
        step = step_at(m, number)
        station = station_at(m, step.station)
        if station.reserved != _NONE:
            revoke_reservation(m, op, times, station.reserved)
        station.users += 1
        if station.users > 1 or station.turn_fs > 0:
            free = False
        for stripe in range(step.stripes):
            if station_at(m, step.station + stripe * STATION_WORDS).free_fs > transfer.start_fs:
                free = False
    transfer.claims = 1
    return free


@inner
def unmark_in_use(m, transfer):
    """Stations count a transfer as a user no longer."""
    for number in range(transfer.first_step, transfer.end_step):
        station = station_at(m, step_at(m, number).station)
        station.users -= 1
        if CHECKED:
            assert station.users >= 0, "a station has fewer than no users"
    transfer.claims = 0


@inner
def release_stations(m, place):
    """A transfer uses its stations no longer. A reservation stays with the route."""
    transfer = transfer_at(m, place)
    if transfer.claims == 1:
        unmark_in_use(m, transfer)
    elif transfer.closed != 0:
        reservation = reservation_at(m, transfer.route)
        if reservation.transfer == place:
            reservation.transfer = _NONE


@inner
def revoke_reservation(m, op, times, number):
    """A route is not one transfer's alone any longer; one that is under way there goes on as flits.

    It enters the network as it stood at its start: nobody has touched its stations since, so what the network then makes
    of it up to this instant is what the closed form said.
    """
    reservation, state = reservation_at(m, number), state_at(m, 0)
    place = reservation.transfer
    if place != _NONE:  # first of all, since a split changes which transfer is under way
        split_batch(m, op, times, place)
    under_way = place != _NONE and transfer_at(m, place).latest_fs > state.now_fs
    reservation.held, reservation.transfer = 0, _NONE
    state.revoked += 1
    route = route_at(m, number)
    for k in range(route.start, route.end):
        station = station_at(m, step_at(m, k).station)
        station.reserved = _NONE
        station.users += under_way
    if under_way:
        transfer = transfer_at(m, place)
        if transfer.closed == COUNTED:
            reservation.passed -= transfer.flits
        else:
            first, end, stripe = transfer.first_step, transfer.end_step, transfer.stripe
            flits, last_bytes = transfer.flits, transfer.last_bytes
            uncontended_end(m, first, end, flits, last_bytes, stripe, transfer.start_fs, REMOVE)
        transfer.closed = 0
        transfer.claims = 1
        transfer.stamp += 1  # its scheduled delivery and completion become stale
        state.reopened += 1
        state.eager_fs = 0  # its flits may come before what stations knew (docs/engine.md, 7)
        enter(m, op, place)


@inner
def flush_counters(m):
    """Count at the stations what transfers that are counted in reservations have left there."""
    for number in range(state_at(m, 0).route_n):
        reservation, route = reservation_at(m, number), route_at(m, number)
        flits = reservation.passed
        if flits == 0:
            continue
        reservation.passed = 0
        for k in range(route.start, route.end):
            step = step_at(m, k)
            share = flits // step.stripes
            for stripe in range(step.stripes):
                station = station_at(m, step.station + stripe * STATION_WORDS)
                station.flits += share
                station.busy_fs += share * station.full_fs
