"""What whole periods of a suspended transfer change, added at once (docs/engine.md, "Networks with credits")."""

from __future__ import annotations

from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    BUFFERED_WORDS,
    PERIOD_WORDS,
    STATION_WORDS,
    WAITS_WORDS,
    buffered_at,
    reply_at,
    state_at,
    station_at,
    transfer_at,
)
from kernels_jit.layout.records import PERIOD_ROW, STATE_MOST
from kernels_jit.simulate.credit_claims import row_of
from kernels_jit.simulate.credit_link import channel_of, slots_of
from kernels_jit.simulate.credit_memory import ring_of
from kernels_jit.simulate.credit_state import memory_of, reply_place, source_of
from kernels_jit.simulate.credit_ways import channels_on, is_at_link, link_on, memory_on, way_of

_NONE = codes.NONE


@inner
def skip_periods(m, credit, number, periods):
    """Change all that a transfer has to do with as so many periods do."""
    row = row_of(m, credit, number)
    cycles, flits = periods * row.cycles, periods * row.flits
    transfer, source, more_fs = transfer_at(m, row.transfer), source_of(m, credit, row), cycles * credit.cycle_fs
    transfer.arrived += flits
    transfer.latest_fs += more_fs
    if memory_of(m, row) == row.first:
        transfer.progress += flits
    else:
        source.flits_sent += flits
        if row.left > source.flits_left:  # within a packet
            source.flits_left -= flits
    for at in range(source.returned_n):
        m[source.returns + at] += cycles
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if not is_at_link(way):
            shift_memory(m, credit, row, memory_on(m, credit, way), cycles, flits)
        else:
            shift_link(m, credit, link_on(m, credit, way), channels_on(m, credit, way), cycles, flits)
    state = state_at(m, 0)
    state.events += flits * (row.end - row.first)
    state.skipped += flits * (row.end - row.first)
    if periods > 0:
        add_waits(m, credit, number, periods)


@inner
def add_waits(m, credit, number, factor):
    """Keep what the flits of a transfer waited for (0), or what they have waited since (-1), or add that so many times."""
    if credit.waits == _NONE:
        return
    row = row_of(m, credit, number)
    kept = credit.periods + number * PERIOD_ROW + PERIOD_WORDS + STATE_MOST
    for step_number in range(row.first, row.end):
        way = way_of(m, step_number)
        if not is_at_link(way):
            continue
        edge = (link_on(m, credit, way).station - state_at(m, 0).stations) // STATION_WORDS
        place = credit.waits + edge * WAITS_WORDS
        for word in range(WAITS_WORDS):
            if factor > 0:
                m[place + word] += factor * m[kept + word]
            else:
                m[kept + word] = m[place + word] + factor * m[kept + word]
        kept += WAITS_WORDS


@inner
def shift_link(m, credit, link, channels, cycles, flits):
    """A link passes so many flits, and all that is known of those on their way is so many cycles later."""
    link.free_fs += cycles * credit.cycle_fs
    link.flits += flits
    for index in range(link.channel_n):
        if channels >> index & 1 == 0:
            continue
        channel_of(m, link, index).ready += cycles
        slots = slots_of(link, index)
        for place in range(slots.first, slots.end, BUFFERED_WORDS):
            buffered_at(m, place).cycle += cycles


@inner
def shift_memory(m, credit, row, memory, cycles, flits):
    """The same of a memory, whose channels get as many flits each."""
    more_fs = cycles * credit.cycle_fs
    if memory_of(m, row) == row.first:
        memory.ready_fs += more_fs
        ring = ring_of(credit, memory, source_of(m, credit, row).port)
        for number in range(m[ring + 1]):
            reply_at(m, reply_place(m, credit, ring, number)).cycle += cycles
    if CHECKED:
        assert flits % memory.channel_n == 0, "the channels of a memory get unlike numbers of flits"
    for stripe in range(memory.channel_n):
        station = station_at(m, memory.channel + stripe * STATION_WORDS)
        station.free_fs += more_fs
        station.flits += flits // memory.channel_n
        station.busy_fs += flits // memory.channel_n * station.full_fs
        queue = memory.queues + stripe * (1 + credit.queue_flits)
        for number in range(credit.queue_flits):
            m[queue + 1 + number] += more_fs
