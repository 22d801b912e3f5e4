"""Queues of flits: sources (the flits of a transfer before their first station) and port queues.

A source stands for many flits and is advanced in place; a port queue holds single flits, in blocks that are allocated and
freed. So memory follows the flits in flight, not those still to come.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.flits.hops import hop_of
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    HOP_WORDS,
    SOURCE_WORDS,
    STATION_WORDS,
    block_at,
    hop_at,
    route_at,
    slot_at,
    source_at,
    state_at,
    station_at,
    step_at,
    visit_at,
)
from kernels_jit.layout.records import BLOCK, FLIT_SHIFT, GROUP_SHIFT

_NONE, READ = codes.NONE, codes.READ


@inner
def comes_first(m, a, b):
    """Whether of two packed flits that come to a station at one instant the first is served first."""
    if a >> FLIT_SHIFT == b >> FLIT_SHIFT:
        return a > b
    return owner_of(m, a) < owner_of(m, b)


@inner
def owner_of(m, entry):
    """The owner of a packed flit's transfer."""
    return hop_at(m, (entry >> FLIT_SHIFT) * HOP_WORDS).owner


@inner
def note_arrival(m, rank, fs):
    """A flit will be at the station of a rank at a time: the station has work."""
    state, visit = state_at(m, 0), visit_at(m, rank)
    visit.head_fs, state.due_fs = min(visit.head_fs, fs), min(state.due_fs, fs)
    m[state.pending + (rank >> 6)] |= np.int64(1) << (rank & 63)
    word_fs, group_fs = state.word_fs + (rank >> 6), state.group_fs + (rank >> 6 + GROUP_SHIFT)
    m[word_fs], m[group_fs] = min(m[word_fs], fs), min(m[group_fs], fs)


@inner
def inject(m, transfer, number, fs):
    """Queue all flits of a transfer before step `number` from `fs` on, or begin those of a read at its memory."""
    step, flits = step_at(m, number), transfer.flits
    hop = hop_of(m, transfer, number)
    transfer.arrived = 0
    transfer.latest_fs = 0
    transfer.from_step = number
    transfer.tail_step = number
    transfer.tail_fs = fs
    paced = number == transfer.first_step and route_at(m, transfer.route).direction == READ
    for j in range(min(step.stripes, flits)):
        station = station_at(m, step.station + (transfer.stripe + j) % step.stripes * STATION_WORDS)
        place = transfer.sources + j * SOURCE_WORDS
        source = source_at(m, place)
        source.fs, source.entry = fs, (hop // HOP_WORDS << FLIT_SHIFT) | (flits - 1 - j)
        source.pace_fs = station.full_fs if paced else 0
        insert_source(m, station, place)
        note_arrival(m, station.rank, fs)


@inner
def insert_source(m, station, place):
    """Put a source where (time, owner) says; nearly always that is the end."""
    source = source_at(m, place)
    source.next = _NONE
    if station.source == _NONE:
        station.source = place
        station.source_last = place
        return
    last = source_at(m, station.source_last)
    if _source_first(m, last, source):
        last.next = place
        station.source_last = place
        return
    at = source_at(m, station.source)
    if _source_first(m, source, at):
        source.next = station.source
        station.source = place
        return
    while _source_first(m, source_at(m, at.next), source):
        at = source_at(m, at.next)
    source.next = at.next
    at.next = place


@inner
def _source_first(m, a, b):
    if a.fs != b.fs:
        return a.fs < b.fs
    return comes_first(m, a.entry, b.entry)


@inner
def put(m, pool, port, entry, fs):
    """Put a flit where (arrival, owner, flit) says into a queue that has a flit and a slot. Returns whether it is first.

    Behind a node with an overhead that is not always the end: the gate holds first flits back, and others of this port
    may have come later and go before.
    """
    at = port.tail
    if at & (BLOCK - 1) == 0:
        at = take_block(m, pool, port)
    port.tail = at + 1
    while at != port.head:
        before = slot_at(pool, slot_before(pool, at))
        if _in_order(m, before.fs, before.entry, fs, entry):
            break
        _set_slot(slot_at(pool, at), before.fs, before.entry)
        at = slot_before(pool, at)
    if _in_order(m, port.fs, port.entry, fs, entry):
        _set_slot(slot_at(pool, at), fs, entry)
        return False
    _set_slot(slot_at(pool, at), port.fs, port.entry)
    port.fs, port.entry, port.owner = fs, entry, owner_of(m, entry)
    return True


@inlined
def append(m, pool, port, entry, fs):
    """Put a flit at the end of a queue that has a flit and a slot: a feeder's flits depart in order (docs/engine.md, 5)."""
    at = port.tail
    if at & (BLOCK - 1) == 0:
        at = take_block(m, pool, port)
    _set_slot(slot_at(pool, at), fs, entry)
    port.tail = at + 1


@inner
def _set_slot(slot, fs, entry):
    slot.fs, slot.entry = fs, entry


@inner
def _in_order(m, fs, entry, later_fs, later):
    return fs < later_fs or (fs == later_fs and comes_first(m, entry, later))


@inner
def has_block(m):
    """Whether a queue can be given a block."""
    state = state_at(m, 0)
    return state.block_free != _NONE or state.slot_n < state.slot_size


@inner
def take_block(m, pool, port):
    """Give a port's queue one more block, at its end. Returns its first slot."""
    state, tail = state_at(m, 0), port.tail
    block = state.block_free
    if block != _NONE:
        state.block_free = block_at(pool, block).after
    else:
        block = state.slot_n
        state.slot_n = block + BLOCK
    if CHECKED:
        assert state.slot_n <= state.slot_size, "a block is allocated although the pool of flits is full"
    if port.head == tail:
        port.head = block + 1
    else:
        block_at(pool, block).before = tail - BLOCK
        block_at(pool, tail - BLOCK).after = block
    return block + 1


@inner
def leave_block(m, pool, port):
    """Free the block whose last flit a port's queue has just left, and go on to the next."""
    state, head = state_at(m, 0), port.head
    block = (head - 1) & -BLOCK
    if head == port.tail:
        port.head, port.tail = 0, 0
    else:
        port.head = block_at(pool, block).after + 1
    block_at(pool, block).after = state.block_free
    state.block_free = block


@inner
def slot_before(pool, slot):
    """The slot of the flit before one that is not the first."""
    return slot - 1 if slot & (BLOCK - 1) != 1 else block_at(pool, slot - 1).before + BLOCK - 1
