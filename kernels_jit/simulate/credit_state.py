"""The state of the links and memories of one transfer, relative to a cycle: kept, and compared with one that was kept.

All that decides what the transfer's flits do is part of it (docs/engine.md, "Networks with credits"), but for how many are
left. Times that are over are all alike. A word that cannot be compared makes the place `NONE`, and it stays so.
"""

from __future__ import annotations

from kernels_jit.compile.jit import inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    INPUT_WORDS,
    PERIOD_WORDS,
    REPLY_WORDS,
    STATION_WORDS,
    buffered_at,
    input_at,
    reply_at,
    sender_at,
    station_at,
    transfer_at,
)
from kernels_jit.layout.records import PERIOD_ROW, REPLY_HEAD, STATE_MOST
from kernels_jit.simulate.credit_claims import row_of
from kernels_jit.simulate.credit_link import (
    channel_of,
    count_credits,
    count_flits,
    depth_of,
    held_channels,
    sender_of,
    slot_after,
    slots_of,
)
from kernels_jit.simulate.credit_memory import ring_of
from kernels_jit.simulate.credit_ways import channels_on, is_at_link, link_on, memory_on, way_of

_NONE = codes.NONE
_LINK_WORDS, _CHANNEL_WORDS = (
    64,
    16,
)  # more than a link, or a virtual channel without flits and credits under way, needs


@inlined
def note(m, at, value, keep):
    """Keep a word at a place, or compare it. Returns the next place, or NONE if it is another."""
    if at == _NONE:
        return at
    if keep:
        m[at] = value
    return at + 1 if m[at] == value else _NONE


@inlined
def source_of(m, credit, row):
    """The link that the transfer of a PERIOD is sent over first: behind its memory if it is a read."""
    way = way_of(m, row.first)
    return link_on(m, credit, way if is_at_link(way) else way_of(m, row.first + 1))


@inlined
def memory_of(m, row):
    """The step of a PERIOD that is a memory, the first or the last, or NONE."""
    if not is_at_link(way_of(m, row.first)):
        return row.first
    return _NONE if is_at_link(way_of(m, row.end - 1)) else row.end - 1


@inlined
def sent_of(m, credit, row):
    """How many flits of the transfer of a PERIOD are on their way: sent by its source, or at the channels of its memory."""
    return (
        transfer_at(m, row.transfer).progress
        if memory_of(m, row) == row.first
        else source_of(m, credit, row).flits_sent
    )


@inner
def note_state(m, credit, number, begin, keep):
    """Keep the state of a PERIOD at the begin of a cycle, or compare it. Returns whether it fits, or is the same."""
    row = row_of(m, credit, number)
    place = credit.periods + number * PERIOD_ROW + PERIOD_WORDS
    end = place + STATE_MOST
    at = note_transfer(m, credit, row, place, begin, keep)
    for step_number in range(row.first, row.end):
        if at == _NONE or at + _LINK_WORDS > end:
            return False
        way = way_of(m, step_number)
        if not is_at_link(way):
            at = note_memory(m, credit, row, memory_on(m, credit, way), at, end, begin, keep)
            continue
        link = link_on(m, credit, way)
        at, channels = note_link(m, credit, link, at, begin, keep), channels_on(m, credit, way)
        for index in range(link.channel_n):
            if channels >> index & 1 and at != _NONE:
                at = note_channel(m, link, index, at, end, begin, keep)
    return at != _NONE


@inner
def note_transfer(m, credit, row, at, begin, keep):
    """Where the flits of a transfer are, and its source."""
    transfer, link, step_number = transfer_at(m, row.transfer), source_of(m, credit, row), memory_of(m, row)
    sent = sent_of(m, credit, row)
    at = note(m, at, sent - transfer.arrived, keep)
    at = note(m, at, transfer.latest_fs - begin * credit.cycle_fs, keep)
    if step_number != _NONE:
        gone = sent if step_number == row.first else transfer.arrived
        channel_n = memory_on(m, credit, way_of(m, step_number)).channel_n
        at = note(m, at, (transfer.stripe + gone) % channel_n, keep)
    at = note(m, at, link.first, keep)
    at = note(m, at, link.taken, keep)
    at = note(m, at, link.taken_last, keep)
    if step_number == row.first:
        at = note(m, at, link.flits_left, keep)
    if credit.outstanding == 0:
        return at
    if link.returned_n > STATE_MOST // 2:
        return _NONE
    at = note(m, at, link.packets, keep)
    at = note(m, at, link.returned_n, keep)
    for number in range(link.returned_n):
        at = note(m, at, m[link.returns + number] - begin, keep)
    return at


@inner
def note_link(m, credit, link, at, begin, keep):
    """A link, without its virtual channels."""
    at = note(m, at, held_channels(m, credit, link, begin), keep)
    at = note(m, at, link.sent, keep)
    at = note(m, at, max(link.free_fs - begin * credit.cycle_fs, 0), keep)
    at = note(m, at, link.grant, keep)
    place = channel_of(m, link, 0).input
    for number in range(credit.input_speedup):
        into = input_at(m, place + number * INPUT_WORDS)
        at = note(m, at, into.accept, keep)
        at = note(m, at, into.first, keep)
    return at


@inner
def note_channel(m, link, index, at, end, begin, keep):
    """A virtual channel: credits here and under way, and the buffer."""
    channel, sender = channel_of(m, link, index), sender_at(m, sender_of(link, index))
    here, held, slots = count_credits(m, link, index, begin), count_flits(m, channel), slots_of(link, index)
    under_way = depth_of(slots) - held - here
    if at + _CHANNEL_WORDS + under_way + 2 * held > end:
        return _NONE
    at = note(m, at, under_way, keep)
    at = note(m, at, held, keep)
    at = note(m, at, sender.grant, keep)
    at = note(m, at, channel.accept, keep)
    at = note(m, at, channel.onward, keep)
    at = note(m, at, channel.given, keep)
    at = note(m, at, max(channel.ready - begin, 0), keep)
    place = channel.front
    for _ in range(held):
        slot = buffered_at(m, place)
        at = note(m, at, slot.cycle - begin, keep)
        at = note(m, at, slot.flit, keep)
        place = slot_after(slots, place)
    place = sender.back
    for number in range(here + under_way):
        if number >= here:
            at = note(m, at, buffered_at(m, place).cycle - begin, keep)
        place = slot_after(slots, place)
    return at


@inner
def note_memory(m, credit, row, memory, at, end, begin, keep):
    """A memory that serves one transfer: its queues, and the packets that are read."""
    now = begin * credit.cycle_fs
    ring = ring_of(credit, memory, source_of(m, credit, row).port)
    replies = m[ring + 1] if memory_of(m, row) == row.first else 0
    words = memory.channel_n * (2 + credit.queue_flits) + 2 * replies
    if at + _LINK_WORDS + words > end:
        return _NONE
    for value in (
        memory.reserved,
        memory.coming,
        memory.first,
        memory.packet,
        memory.left,
        memory.writes_first,
        replies,
    ):
        at = note(m, at, value, keep)
    at = note(m, at, max(memory.ready_fs - now, 0), keep)
    if memory_of(m, row) == row.first:
        at = note(m, at, m[ring + 2], keep)
    for number in range(replies):
        reply = reply_at(m, reply_place(m, credit, ring, number))
        at = note(m, at, reply.flits, keep)
        at = note(m, at, reply.cycle - begin, keep)
    for stripe in range(memory.channel_n):
        queue, station = (
            memory.queues + stripe * (1 + credit.queue_flits),
            station_at(m, memory.channel + stripe * STATION_WORDS),
        )
        at = note(m, at, max(station.free_fs - now, 0), keep)
        at = note(m, at, station.direction, keep)
        for number in range(credit.queue_flits):
            oldest = m[queue] + number
            oldest = oldest - credit.queue_flits if oldest >= credit.queue_flits else oldest
            at = note(m, at, max(m[queue + 1 + oldest] - now, 0), keep)
    return at


@inlined
def reply_place(m, credit, ring, number):
    """Where one of the packets in a ring of replies stands."""
    at = m[ring] + number
    return ring + REPLY_HEAD + (at - credit.reply_packets if at >= credit.reply_packets else at) * REPLY_WORDS
