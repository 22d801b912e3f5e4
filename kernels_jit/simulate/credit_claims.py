"""Who uses the links and memories of a network with credits: counted in hybrid mode alone.

A transfer counts at the stations of its links until it is complete, and at the first channel of a memory that one of them
comes from or leads to. A long one gets a PERIOD record. When it has all of these to itself it reserves them
(`credit_period`); whoever comes there afterwards interrupts it.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    MEMORY_WORDS,
    credit_at,
    memory_at,
    period_at,
    state_at,
    station_at,
    transfer_at,
)
from kernels_jit.layout.records import PERIOD_ROW, PERIODS, TRACKED
from kernels_jit.simulate.credit_ways import is_at_link, link_on, way_of

_NONE = codes.NONE
LONG_FLITS = 96  # shorter transfers are over before their state comes again, or soon after
PAUSE = 16  # windows between two looks at a transfer that has not its links to itself


@inlined
def row_of(m, credit, number):
    """The PERIOD record of a number."""
    return period_at(m, credit.periods + number * PERIOD_ROW)


@inner
def claim_links(m, place):
    """A transfer will use its links and memories: count it there, and interrupt those that have reserved them."""
    credit, transfer = credit_at(m, state_at(m, 0).credit), transfer_at(m, place)
    transfer.claims = 1
    for number in range(transfer.first_step, transfer.end_step):
        way = way_of(m, number)
        if is_at_link(way):
            link = link_on(m, credit, way)
            _count(m, credit, link.station, 1)
            _count(m, credit, memory_station(m, credit, link), 1)
    if transfer.branch == 0 and transfer.flits >= LONG_FLITS and credit.tracked != -1:
        _track(m, credit, transfer, place)


@inner
def release_links(m, place):
    """A transfer uses its links no longer."""
    credit, transfer = credit_at(m, state_at(m, 0).credit), transfer_at(m, place)
    if transfer.claims == 0:
        return
    if transfer.claims >= TRACKED:
        number = transfer.claims - TRACKED
        if CHECKED:
            assert credit.suspended >> number & 1 == 0, "a suspended transfer is complete"
        let_go(m, credit, number)
        credit.tracked &= ~(np.int64(1) << number)
    for number in range(transfer.first_step, transfer.end_step):
        way = way_of(m, number)
        if is_at_link(way):
            link = link_on(m, credit, way)
            _count(m, credit, link.station, -1)
            _count(m, credit, memory_station(m, credit, link), -1)
    transfer.claims = 0


@inlined
def _count(m, credit, station_place, more):
    """A station has a user more, or one less."""
    if station_place != _NONE:
        station = station_at(m, station_place)
        station.users += more
        if CHECKED:
            assert station.users >= 0, "a station has fewer than no users"
        if station.reserved != _NONE and more > 0:
            credit.interrupted |= np.int64(1) << station.reserved


@inlined
def memory_station(m, credit, link):
    """The first channel of the memory that a link comes from or leads to, or NONE."""
    sender, receiver = link.source - credit.router_n, link.receiver - credit.router_n
    if 0 <= receiver < credit.memory_n:
        return memory_at(m, credit.memories + receiver * MEMORY_WORDS).channel
    if 0 <= sender < credit.memory_n:
        return memory_at(m, credit.memories + sender * MEMORY_WORDS).channel
    return _NONE


@inner
def _track(m, credit, transfer, place):
    """A long transfer gets a PERIOD record."""
    number = lowest_bit(~credit.tracked)
    if CHECKED:
        assert number < PERIODS, "there are more long transfers than bits"
    credit.tracked |= np.int64(1) << number
    row = row_of(m, credit, number)
    row.transfer, row.pause, row.kept = place, PAUSE, 0
    transfer.claims = TRACKED + number


@inner
def reserve(m, credit, number):
    """The transfer of a PERIOD reserves its links and memories, if nobody else uses them. Returns whether it does."""
    row = row_of(m, credit, number)
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if is_at_link(way):
            link = link_on(m, credit, way)
            other = memory_station(m, credit, link)
            if station_at(m, link.station).users > 1 or (other != _NONE and station_at(m, other).users > 1):
                return False
    row.kept = 1
    _mark(m, credit, number, number)
    return True


@inner
def let_go(m, credit, number):
    """A transfer has its links reserved no longer."""
    row = row_of(m, credit, number)
    credit.interrupted &= ~(np.int64(1) << number)
    if row.kept == 1:
        row.kept = 0
        _mark(m, credit, number, _NONE)


@inner
def _mark(m, credit, number, by):
    """The links and memories of a PERIOD are reserved by one, or by NONE."""
    row = row_of(m, credit, number)
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if is_at_link(way):
            link = link_on(m, credit, way)
            station_at(m, link.station).reserved = by
            other = memory_station(m, credit, link)
            if other != _NONE:
                station_at(m, other).reserved = by
