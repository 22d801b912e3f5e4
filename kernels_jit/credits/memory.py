"""Memories of a network with credits: flits wait in the queues of channels, and what is read waits to be sent.

A channel serves the flits of its queue in order, so when a flit enters, the time of its service is known. The flits of writes
come from the buffers of the memory's links. Reads that are there at the same time send a packet each, in turn; each packet
first gets a place among the replies, so none of them waits for another to be sent.
"""

from __future__ import annotations

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import inlined, inner
from kernels_jit.credits.hop_codes import hop_code_of, link_on, vcs_on
from kernels_jit.credits.input_vcs import WORD_VCS, input_vc_place, next_visible, visible_vcs
from kernels_jit.credits.link import (
    end_packet,
    front_of,
    has_credit,
    is_idle,
    output_vc_of,
    take_front,
)
from kernels_jit.credits.queue import first_cycle, later
from kernels_jit.credits.source import send, serve_source, take_vc
from kernels_jit.credits.waits import charge_memory, charge_source
from kernels_jit.flits.station import service_of
from kernels_jit.flits.transfers import deliver
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    REPLY_WORDS,
    STATION_WORDS,
    input_vc_at,
    link_at,
    reply_at,
    state_at,
    station_at,
    transfer_at,
)
from kernels_jit.layout.records import NEVER, PLACE_SHIFT, REPLY_HEAD

_NONE = codes.NONE
_FIRST, _COUNT, _SENDING = range(3)  # words before a ring of replies


@inner
def serve_memory(m, op, times, credit, memory, cycle):
    """One cycle of a memory. Returns the next cycle in which it may have something to do, or NEVER."""
    next_cycle = NEVER
    for port in range(memory.ports):
        next_cycle = min(next_cycle, serve_port(m, op, times, credit, memory, port, cycle))
    next_cycle = min(next_cycle, begin_reads(m, credit, memory, cycle))
    writes_first = memory.writes_first
    for turn in range(2):
        if writes_first + turn == 1:
            went, due = write(m, op, times, credit, memory, cycle)
        else:
            went, due = read(m, credit, memory, cycle)
        if went and turn == 0:
            memory.writes_first = 1 - writes_first
        next_cycle = min(next_cycle, due)
    return next_cycle


@inlined
def ring_of(credit, memory, port):
    """The place of the ring of the replies of a port."""
    return memory.replies + port * (REPLY_HEAD + credit.reply_packets * REPLY_WORDS)


@inner
def serve_port(m, op, times, credit, memory, port, cycle):
    """A link of a memory takes a flit of a reply, or of a transfer that begins there. Returns as `serve_memory`."""
    link, ring = link_at(m, m[memory.outputs + port]), ring_of(credit, memory, port)
    reply = reply_at(m, ring + REPLY_HEAD + m[ring + _FIRST] * REPLY_WORDS)
    if m[ring + _SENDING] == 0:
        due = reply.cycle if m[ring + _COUNT] > 0 else NEVER
        if link.taken != _NONE or due > cycle:
            return min(max(due, cycle + 1), serve_source(m, op, times, credit, link, cycle))
    if not is_idle(credit, link, cycle):
        return cycle + 1
    number = transfer_at(m, reply.transfer).first_step + 1
    if m[ring + _SENDING] == 0:
        take_vc(m, credit, link, vcs_on(m, credit, hop_code_of(m, number)), cycle)
        if link.taken == _NONE:
            return cycle + 1
        link.flits_left, m[ring + _SENDING] = reply.flits, 1
    if has_credit(m, output_vc_of(link, link.taken), cycle):
        send(m, op, times, credit, link, reply.transfer, number, cycle)
        if link.taken == _NONE:
            charge_source(m, credit, link, reply.flits, reply.cycle * credit.cycle_fs)
            first = m[ring + _FIRST] + 1
            m[ring + _FIRST] = 0 if first == credit.reply_packets else first
            m[ring + _COUNT] -= 1
            m[ring + _SENDING] = 0
            memory.reserved -= 1
    return cycle + 1


@inner
def begin_reads(m, credit, memory, cycle):
    """Reads that have come by a cycle are served in turn from now on. Returns when the next one comes, or NEVER."""
    while memory.coming != _NONE:
        place = memory.coming
        start = first_cycle(credit, transfer_at(m, place).start_fs)
        if start > cycle:
            return start
        memory.coming = transfer_at(m, place).next
        append(m, memory, place)
    return NEVER


@inlined
def append(m, memory, place):
    """A read is the last in turn."""
    transfer_at(m, place).next = _NONE
    if memory.first == _NONE:
        memory.first = place
    else:
        transfer_at(m, memory.last).next = place
    memory.last = place


@inner
def read(m, credit, memory, cycle):
    """Flits of the packet of the first read enter the queues of the channels. Returns whether any did, and when to look."""
    if memory.first == _NONE:
        return False, NEVER
    place = memory.first
    transfer = transfer_at(m, place)
    if memory.packet == 0:
        if memory.reserved == credit.reply_packets:
            return False, cycle + 1
        memory.reserved += 1
        memory.packet = memory.left = min(credit.packet_flits, transfer.flits - transfer.progress)
        memory.ready_fs = 0
    before = memory.left
    while memory.left > 0:
        end_fs = admit(m, credit, memory, transfer, transfer.progress, cycle)
        if end_fs < 0:
            return memory.left < before, later(credit, -end_fs, cycle)
        memory.ready_fs = max(memory.ready_fs, end_fs)
        transfer.progress += 1
        memory.left -= 1
    ring = ring_of(credit, memory, link_on(m, credit, hop_code_of(m, transfer.first_step + 1)).port)
    at = m[ring + _FIRST] + m[ring + _COUNT]
    if at >= credit.reply_packets:
        at -= credit.reply_packets
    reply = reply_at(m, ring + REPLY_HEAD + at * REPLY_WORDS)
    reply.transfer, reply.flits, reply.cycle = place, memory.packet, later(credit, memory.ready_fs, cycle)
    m[ring + _COUNT] += 1
    memory.packet = 0
    memory.first = transfer.next
    if transfer.progress < transfer.flits:
        append(m, memory, place)
    return True, cycle + 1


@inner
def write(m, op, times, credit, memory, cycle):
    """The flits at the fronts of buffers enter the queues of the channels. Returns as `read`."""
    went, next_cycle = False, NEVER
    for first in range(0, memory.room, WORD_VCS):
        todo = visible_vcs(m, memory, first, cycle)
        while todo != 0:
            vc = first + lowest_bit(todo)
            todo &= todo - 1
            seen = m[memory.visible_at + vc]
            input_vc = input_vc_at(m, input_vc_place(memory, vc))
            place = front_of(m, input_vc).flit >> PLACE_SHIFT
            transfer = transfer_at(m, place)
            end_fs = admit(m, credit, memory, transfer, transfer.arrived, cycle)
            if end_fs < 0:
                next_cycle = min(next_cycle, later(credit, -end_fs, cycle))
                continue
            went, next_cycle = True, cycle + 1
            charge_memory(m, credit, input_vc, seen, cycle)
            flit = take_front(m, credit, input_vc, cycle)
            if flit & 1 and credit.outstanding > 0:
                end_packet(m, credit, transfer, end_fs, cycle)
            transfer.arrived += 1
            transfer.latest_fs = max(transfer.latest_fs, end_fs)
            if transfer.arrived == transfer.flits:
                deliver(m, op, times, place, transfer.latest_fs)
    if next_cycle > cycle + 1:
        next_cycle = min(next_cycle, next_visible(m, memory, cycle))
    return went, next_cycle


@inner
def admit(m, credit, memory, transfer, number, cycle):
    """A flit of a transfer enters the queue of its channel. Returns the end of its service, or minus when there is room."""
    stripe, now = (transfer.stripe + number) % memory.channel_n, cycle * credit.cycle_fs
    queue = memory.queues + stripe * (1 + credit.queue_flits)
    oldest = queue + 1 + m[queue]
    if m[oldest] > now:
        return -m[oldest]
    station = station_at(m, memory.channel + stripe * STATION_WORDS)
    service = service_of(m, station, transfer, transfer.flits - 1 - number)
    m[oldest] = min(max(now + memory.overhead_fs, station.free_fs), NEVER)
    m[queue] = 0 if m[queue] + 1 == credit.queue_flits else m[queue] + 1
    station.free_fs = m[oldest] + service
    station.busy_fs += service
    station.flits += 1
    state_at(m, 0).events += 1
    credit.moved = cycle
    return station.free_fs
