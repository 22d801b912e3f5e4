"""Long transfers that meet no other in a network with credits: when their state comes again, they are not served any more.

What becomes of the flits of a transfer that has its links and memories to itself follows from their state. So if that is,
relative to time, as it was P cycles before, it comes again every P cycles, as long as there are flits at the source. The
transfer is *suspended*: its links look empty, and its source sleeps until shortly before its flits come to an end. When that
is due, or another transfer comes to one of its links, it is *resumed*: all periods that are over are added at once, and
the cycles after them are served for it alone (docs/engine.md, "Networks with credits").
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    PERIOD_WORDS,
    ROUTER_WORDS,
    STATION_WORDS,
    WAITS_WORDS,
    buffered_at,
    link_at,
    memory_at,
    reply_at,
    router_at,
    state_at,
    station_at,
    step_at,
    transfer_at,
    way_at,
)
from kernels_jit.layout.records import NEVER, PERIOD_ROW, STATE_MOST, WAIT_STEPS, WAY_SHIFT
from kernels_jit.simulate.credit_actors import serve_actor
from kernels_jit.simulate.credit_claims import PAUSE, let_go, reserve, row_of
from kernels_jit.simulate.credit_link import channel_of, front_of, return_place
from kernels_jit.simulate.credit_memory import ring_of
from kernels_jit.simulate.credit_state import (
    flit_place,
    memory_of,
    note_state,
    reply_place,
    sent_of,
    source_of,
)

_NONE = codes.NONE
_FIRST_LOOKS = 16  # windows until the second state is kept; then twice as many each time
_PERIODS_LEAST = 2  # for fewer it is not worth while
_PHASE = 8  # cycles: as states come again after few packets, windows end where a multiple of it has passed
_PHASED_LOOKS = 128  # but not for long


@inner
def track_transfers(m, op, times, credit, begin, end):
    """Before a window is served: resume transfers, or suspend them. Returns the end of the window."""
    todo = credit.suspended
    while todo != 0:
        number = lowest_bit(todo)
        todo &= todo - 1
        row = row_of(m, credit, number)
        if credit.interrupted >> number & 1:
            state_at(m, 0).resumed += 1
            resume(m, op, times, credit, number, begin)
        elif row.due < end:
            resume(m, op, times, credit, number, begin)
            row.pause = 2 * PAUSE
    todo = credit.tracked & ~credit.suspended
    while todo != 0:
        number = lowest_bit(todo)
        todo &= todo - 1
        row = row_of(m, credit, number)
        if credit.interrupted >> number & 1 or (row.kept == 1 and transfer_at(m, row.transfer).from_step != row.first):
            let_go(m, credit, number)
            row.pause = PAUSE
        row.pause -= 1
        if row.pause <= 0:
            look(m, credit, number, begin)
            if row.kept == 1 and row.most_looks <= _PHASED_LOOKS:
                end = min(end, begin + _PHASE - (begin - row.begin) % _PHASE)
    return end


@inner
def look(m, credit, number, begin):
    """Keep the state of a transfer, or compare it with the one that is kept, and suspend the transfer if it has come again."""
    row = row_of(m, credit, number)
    if row.kept == 0:
        row.first = transfer_at(m, row.transfer).from_step
        if row.first == _NONE or not is_under_way(m, credit, row, begin) or not reserve(m, credit, number):
            row.pause = PAUSE
            return
        row.most_looks = _FIRST_LOOKS
        keep_state(m, credit, number, begin)
        return
    if row.cycles > 0 and begin < row.begin + 2 * row.cycles:
        return
    is_missed = row.cycles > 0 and begin > row.begin + 2 * row.cycles
    if not is_missed and is_again(m, credit, number, begin):
        return
    if CHECKED:
        assert row.cycles == 0 or is_missed, "a state that has come again does not come once more"
    row.looks -= 1
    if row.looks <= 0 or is_missed:
        row.most_looks *= 2
        keep_state(m, credit, number, begin)


@inner
def is_under_way(m, credit, row, begin):
    """Whether flits of a transfer are sent, and the steps that they take up are few enough. Finds these steps."""
    transfer = transfer_at(m, row.transfer)
    row.end = row.first + 1
    while row.end < transfer.end_step and step_at(m, row.end).store_and_forward != 1:
        row.end += 1
    if transfer.start_fs >= begin * credit.cycle_fs:
        return False
    return credit.waits == _NONE or row.end - row.first <= WAIT_STEPS


@inner
def keep_state(m, credit, number, begin):
    """Keep the state of a transfer at the begin of a cycle; if it does not fit, look again much later."""
    row = row_of(m, credit, number)
    row.begin, row.looks, row.cycles = begin, row.most_looks, 0
    row.sent, row.left = sent_of(m, row), source_of(m, row).flits_left
    add_waits(m, credit, number, 0)
    if not note_state(m, credit, number, begin, True):
        let_go(m, credit, number)
        row.pause = row.most_looks * PAUSE


@inner
def is_again(m, credit, number, begin):
    """Whether the state of a transfer has come again; then it is suspended, in checked runs when it has come once more."""
    row = row_of(m, credit, number)
    sent, left = sent_of(m, row) - row.sent, source_of(m, row).flits_left
    is_within = row.left - left == sent and memory_of(m, row) != row.first  # no packet has begun since
    if sent == 0 or not (is_within or left == row.left) or not note_state(m, credit, number, begin, False):
        return False
    rest = left - 1 if is_within else unbegun_flits(m, row) - 1
    if CHECKED:
        if row.cycles == 0:
            if rest >= sent:
                row.cycles, row.flits = begin - row.begin, sent
            return True
        assert sent == 2 * row.flits, "another number of flits is sent in the next period"
    if rest // sent >= _PERIODS_LEAST:
        row.cycles, row.flits, row.begin = begin - row.begin, sent, begin
        row.due = begin + rest // sent * row.cycles
        add_waits(m, credit, number, -1)
        suspend(m, credit, number)
    else:
        let_go(m, credit, number)
        row.pause = 2 * PAUSE
    return True


@inner
def unbegun_flits(m, row):
    """The flits of a transfer whose packets have not begun."""
    transfer, step_number = transfer_at(m, row.transfer), memory_of(m, row)
    left = (
        memory_at(m, way_at(m, row.first).link >> WAY_SHIFT).left
        if step_number == row.first
        else source_of(m, row).flits_left
    )
    return transfer.flits - sent_of(m, row) - left


@inner
def add_waits(m, credit, number, factor):
    """Keep what the flits of a transfer waited for (0), or what they have waited since (-1), or add that so many times."""
    if credit.waits == _NONE:
        return
    row = row_of(m, credit, number)
    kept = credit.periods + number * PERIOD_ROW + PERIOD_WORDS + STATE_MOST
    for step_number in range(row.first, row.end):
        way = way_at(m, step_number)
        if way.channels == 0:
            continue
        edge = (link_at(m, way.link >> WAY_SHIFT).station - state_at(m, 0).stations) // STATION_WORDS
        place = credit.waits + edge * WAITS_WORDS
        for word in range(WAITS_WORDS):
            if factor > 0:
                m[place + word] += factor * m[kept + word]
            else:
                m[kept + word] = m[place + word] + factor * m[kept + word]
        kept += WAITS_WORDS


@inner
def first_due(m, credit):
    """The first cycle in which a suspended transfer is due, or NEVER."""
    first, todo = NEVER, credit.suspended
    while todo != 0:
        first = min(first, row_of(m, credit, lowest_bit(todo)).due)
        todo &= todo - 1
    return first


@inner
def suspend(m, credit, number):
    """The links of a transfer look empty, and its source, too; it is not served before it is due."""
    row = row_of(m, credit, number)
    source = source_of(m, row)
    state_at(m, 0).suspended += 1
    credit.suspended |= np.int64(1) << number
    if source.source < credit.router_n:
        router_of(m, credit, source.source).sources &= ~(np.int64(1) << source.port)
    else:
        put_off(m, credit, source.source, row.due)
    for step_number in range(row.first, row.end):
        way = way_at(m, step_number)
        if way.channels != 0:
            link = link_at(m, way.link >> WAY_SHIFT)
            hide_link(m, link)
            if link.receiver >= credit.router_n:
                put_off(m, credit, link.receiver, row.due)


@inlined
def router_of(m, credit, actor):
    """The router that an actor is."""
    return router_at(m, credit.routers + actor * ROUTER_WORDS)


@inlined
def put_off(m, credit, actor, cycle):
    """An actor has something to do in a cycle, and nothing before."""
    m[credit.wakes + actor] = cycle
    m[credit.pending + (actor >> 6)] |= np.int64(1) << (actor & 63)


@inlined
def hide_link(m, link):
    """The lanes of a link look empty."""
    for index in range(link.channel_n):
        if channel_of(m, link, index).n > 0:
            lane = link.inward + index
            m[link.busy + (lane >> 6)] &= ~(np.int64(1) << (lane & 63))


@inlined
def show_link(m, link):
    """The lanes of a link with flits are busy again."""
    for index in range(link.channel_n):
        channel = channel_of(m, link, index)
        if channel.n > 0:
            lane = link.inward + index
            m[link.busy + (lane >> 6)] |= np.int64(1) << (lane & 63)
            m[link.dues + index] = front_of(m, channel).cycle


@inner
def resume(m, op, times, credit, number, begin):
    """Serve a transfer up to the begin of a cycle: whole periods at once, what is over of the next one by flits."""
    row = row_of(m, credit, number)
    source, periods = source_of(m, row), (begin - row.begin) // row.cycles
    if CHECKED:
        assert row.begin <= begin <= row.due, "a suspended transfer is resumed too late"
    skip_periods(m, credit, number, periods)
    credit.suspended &= ~(np.int64(1) << number)
    if source.source < credit.router_n:
        router_of(m, credit, source.source).sources |= np.int64(1) << source.port
    for step_number in range(row.first, row.end):
        way = way_at(m, step_number)
        if way.channels != 0:
            show_link(m, link_at(m, way.link >> WAY_SHIFT))
    cycle = row.begin + periods * row.cycles
    while cycle < begin:
        until = min(cycle + credit.window, begin)
        credit.served = until
        serve_alone(m, op, times, credit, number, cycle, until)
        cycle = until
    put_off(m, credit, source.source, begin)
    for step_number in range(row.first, row.end):
        way = way_at(m, step_number)
        if way.channels != 0 and link_at(m, way.link >> WAY_SHIFT).receiver != _NONE:
            put_off(m, credit, link_at(m, way.link >> WAY_SHIFT).receiver, begin)
    credit.next, credit.moved = begin, begin
    let_go(m, credit, number)
    row.pause = PAUSE


@inner
def serve_alone(m, op, times, credit, number, cycle, until):
    """Serve the flits of one transfer in the cycles of a window."""
    row = row_of(m, credit, number)
    source = source_of(m, row)
    if source.source < credit.router_n:
        port = np.int64(1) << source.port
        serve_router_alone(m, op, times, credit, source.source, port, 0, 0, cycle, until)
    else:
        serve_actor(m, op, times, credit, source.source, cycle, until)
    for step_number in range(row.first, row.end):
        way = way_at(m, step_number)
        if way.channels == 0 or link_at(m, way.link >> WAY_SHIFT).receiver == _NONE:
            continue
        link = link_at(m, way.link >> WAY_SHIFT)
        if link.receiver < credit.router_n:
            none, end = np.int64(0), link.inward + link.channel_n
            serve_router_alone(m, op, times, credit, link.receiver, none, link.inward, end, cycle, until)
        else:
            serve_actor(m, op, times, credit, link.receiver, cycle, until)


@inner
def serve_router_alone(m, op, times, credit, actor, ports, lane, end, cycle, until):
    """Serve a router as if nothing were there but the sources at some ports, as bits, and the lanes from one to another."""
    router = router_of(m, credit, actor)
    others = router.sources & ~ports
    router.sources &= ports
    for word in range(router.words):
        busy, own = m[router.busy + word], bits_between(lane - 64 * word, end - 64 * word)
        m[credit.hidden + word], m[router.busy + word] = busy & ~own, busy & own
    serve_actor(m, op, times, credit, actor, cycle, until)
    router.sources |= others
    for word in range(router.words):
        m[router.busy + word] |= m[credit.hidden + word]


@inlined
def bits_between(first, end):
    """A word whose bits from one number to before another are set; they may lie outside of it."""
    if first >= 64 or end <= 0:
        return np.int64(0)
    below = np.int64(-1) << end if end < 64 else np.int64(0)
    return (np.int64(-1) << max(first, 0)) & ~below


@inner
def skip_periods(m, credit, number, periods):
    """Change all that a transfer has to do with as so many periods do."""
    row = row_of(m, credit, number)
    cycles, flits = periods * row.cycles, periods * row.flits
    transfer, source, more_fs = transfer_at(m, row.transfer), source_of(m, row), cycles * credit.cycle_fs
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
        way = way_at(m, step_number)
        if way.channels == 0:
            shift_memory(m, credit, row, memory_at(m, way.link >> WAY_SHIFT), cycles, flits)
        else:
            shift_link(m, credit, link_at(m, way.link >> WAY_SHIFT), way.channels, cycles, flits)
    state = state_at(m, 0)
    state.events += flits * (row.end - row.first)
    state.skipped += flits * (row.end - row.first)
    if periods > 0:
        add_waits(m, credit, number, periods)


@inner
def shift_link(m, credit, link, channels, cycles, flits):
    """A link passes so many flits, and all that is known of those on their way is so many cycles later."""
    link.free_fs += cycles * credit.cycle_fs
    link.flits += flits
    for index in range(link.channel_n):
        if channels >> index & 1 == 0:
            continue
        channel = channel_of(m, link, index)
        channel.ready += cycles
        for number in range(channel.return_n):
            m[return_place(channel, number)] += cycles
        for number in range(channel.n):
            buffered_at(m, flit_place(channel, number)).cycle += cycles


@inner
def shift_memory(m, credit, row, memory, cycles, flits):
    """The same of a memory, whose channels get as many flits each."""
    more_fs = cycles * credit.cycle_fs
    if memory_of(m, row) == row.first:
        memory.ready_fs += more_fs
        ring = ring_of(credit, memory, source_of(m, row).port)
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
