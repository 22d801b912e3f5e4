"""A router of a network with credits: in each cycle virtual channels are given to heads, then the switch to flits.

The virtual channels that have a flit for the switch stand in `credit.bidders`, and at `credit.winners` for each output the one
that its pointer chooses. A flit bids for an output of the switch from an input, of which a port has `input_speedup`. Of the
flits at an input that want one output one bids. At `credit.bids` stand the inputs that want each output, as bits, then for
each pair the place of the virtual channel that bids and its rank.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose, rarely
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.compile.prefetch import LINE, prefetch
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    ASK_WORDS,
    INPUT_WORDS,
    TRANSFER_WORDS,
    ask_at,
    channel_at,
    input_at,
    link_at,
)
from kernels_jit.layout.records import (
    BRANCHES,
    COPIES,
    IS_COPY,
    NEVER,
    PLACE_BITS,
    PLACE_SHIFT,
    WAY_ENDS,
)
from kernels_jit.simulate.credit_bids import (
    BIDDER_SHIFT,
    PORT_MASK,
    PORT_SHIFT,
    RANK_SHIFT,
    bid,
    have_credit,
    is_guess,
    label_of,
)
from kernels_jit.simulate.credit_channels import add_ask, give_channels
from kernels_jit.simulate.credit_copies import begin_copies, note_winner, pass_along, pass_copy, serve_copies
from kernels_jit.simulate.credit_lanes import WORD_LANES, due_lanes, lane_place, next_due
from kernels_jit.simulate.credit_link import (
    allowed_of,
    cross,
    first_from,
    free_by,
    front_of,
    has_credit,
    held_channels,
    is_free,
    next_step,
    take_front,
)
from kernels_jit.simulate.credit_stages import begin_routing
from kernels_jit.simulate.credit_ways import link_place, set_of, way_of, way_place

_NONE = codes.NONE
WINNER_MASK = (1 << PLACE_BITS) - 1


@inlined
def serve_router(m, op, times, credit, router, cycle):
    """One cycle of a router. Returns the next cycle in which it may have something to do, or NEVER."""
    next_cycle, asks, bidders, wanted = NEVER, 0, 0, np.int64(0)
    asked, disputed = np.int64(0), np.int64(0)
    outputs, inputs, mixed = np.int64(0), np.int64(0), np.int64(0)
    until_fs = free_by(credit, cycle)
    first = 0
    while first < router.room:  # shorter than a range with steps
        todo = due_lanes(m, router, first, cycle)
        while todo != 0:
            bit = lowest_bit(todo)
            todo &= todo - 1
            lane = first + bit
            place = lane_place(router, lane)
            after = lane_place(router, first + lowest_bit(todo | np.int64(todo == 0) << bit))
            channel = channel_at(m, place)
            prefetch(m, after)
            if CHECKED:
                seen = m[router.dues + lane]
                assert seen == front_of(m, channel).cycle, "a flit can be seen in another cycle than its router thinks"
            if channel.onward == _NONE:
                fetch_way(m, after)
                look_up(m, credit, router, channel, cycle)
            if channel.ready > cycle:
                next_cycle = min(next_cycle, channel.ready)
                continue
            next_cycle = cycle + 1
            if rarely(channel.onward == COPIES):
                asks, some, wants = serve_copies(m, credit, lane, channel, asks, cycle)
                asked, disputed, wanted = asked | some, disputed | asked & some, wanted | wants
                continue
            onward = link_at(m, channel.onward)
            if channel.given == _NONE:
                free = allowed_of(m, credit, channel) & ~held_channels(m, credit, onward, cycle)
                if free == 0:
                    continue
                some = np.int64(1) << onward.port
                asked, disputed = asked | some, disputed | asked & some
                asks = add_ask(m, credit, asks, place, lane, free)
                if credit.speculative == 0 or credit.allocator == codes.AGE:
                    continue
                if onward.free_fs >= until_fs or not have_credit(m, onward, free, cycle):
                    continue
            elif onward.free_fs >= until_fs or not has_credit(m, channel.given, cycle):
                continue
            port, number = onward.port, (channel.input - router.switch) // INPUT_WORDS
            best, wants = credit.winners + port, credit.matches + number
            m[best] = min(
                choose(outputs >> port & 1 == 0, NEVER, m[best]),
                turn_to_pass(m, credit, onward, channel, place, number),
            )
            some = choose(inputs >> number & 1 == 0, 0, m[wants]) | np.int64(1) << port
            m[wants], mixed = some, mixed | choose(some & (some - 1) == 0, 0, some)
            outputs, inputs = outputs | np.int64(1) << port, inputs | np.int64(1) << number
            prefetch(m, channel.front)
            m[credit.bidders + bidders] = place << BIDDER_SHIFT | port << PORT_SHIFT | number
            bidders += 1
        first += WORD_LANES
    if next_cycle > cycle + 1:
        next_cycle = min(next_cycle, next_due(m, router, cycle))
    if asks > 0 or bidders > 0 or wanted != 0:
        heads, flits = (asks, asked, disputed), (bidders, outputs, mixed)
        allocate(m, op, times, credit, router, heads, flits, wanted, cycle)
    return next_cycle


@inlined
def allocate(m, op, times, credit, router, heads, flits, wanted, cycle):
    """Give virtual channels to heads that ask and the switch to flits.

    `heads`: how many ask, and bits of the outputs that any, and that several of them, ask for. `flits`: how many bid, and bits
    of the outputs that any has, and of those of inputs that want several. `wanted`: of outputs for which copies bid besides.
    """
    (asks, asked, disputed), (bidders, outputs, mixed) = heads, flits
    if rarely(wanted != 0 or credit.allocator == codes.AGE):  # copies bid, or heads will that get a channel now
        mixed = np.int64(-1)
    if mixed != 0:
        wanted |= bid_for(m, credit, bidders, mixed)
        outputs &= ~mixed
    if asks > 0:
        give_channels(m, credit, router, asks, asked, disputed, cycle)
        if rarely(credit.speculative == 1 and credit.allocator == codes.AGE):
            wanted |= bid_by_age(m, credit, asks, cycle)
    passed = np.int64(0)  # inputs
    while outputs != 0:
        place = m[credit.winners + lowest_bit(outputs)] & WINNER_MASK
        outputs &= outputs - 1
        if CHECKED:
            into = np.int64(1) << input_at(m, channel_at(m, place).input).number
            assert passed & into == 0, "two flits pass from one input"
            passed |= into
        pass_alone(m, op, times, credit, router, place, cycle)
    if wanted != 0:
        give_switch(m, op, times, credit, router, wanted, cycle)


@inlined
def turn_to_pass(m, credit, onward, channel, place, number):
    """When a virtual channel at an input has its turn at an output that its pointer alone chooses for; ends in its place.

    Inputs come in turn from the output's pointer on, and at one input virtual channels by rank, as in `credit_bids.bid`. In
    round robin heads that speculate come after all others.
    """
    guesses = np.int64(channel.given == _NONE)
    rank = channel.index - input_at(m, channel.input).first & PORT_MASK | guesses << PORT_SHIFT
    turn = (number - onward.grant & PORT_MASK) << PORT_SHIFT + 1 | rank
    turn |= (guesses & np.int64(credit.allocator == codes.ROUND_ROBIN)) << 2 * PORT_SHIFT + 1
    return turn << PLACE_BITS | place


@inner
def bid_for(m, credit, bidders, some):
    """Of the virtual channels that have a flit for the switch those bid whose output is one of some. Returns these bits."""
    wanted = np.int64(0)
    for number in range(bidders):
        bidder = m[credit.bidders + number]
        if some >> (bidder >> PORT_SHIFT & PORT_MASK) & 1:
            wanted |= bid(m, credit, bidder >> BIDDER_SHIFT)
    return wanted


@inlined
def fetch_way(m, place):
    """Hint at the way of the flit at the front of a virtual channel."""
    prefetch(m, way_place(m, next_step(front_of(m, channel_at(m, place)).flit)))


@inner
def look_up(m, credit, router, channel, cycle):
    """The packet at the front of a buffer, which has just become that, gets its next link, or those of its branches."""
    way = way_of(m, next_step(front_of(m, channel).flit))
    begun = begin_routing(m, router, cycle) if rarely(router.routing > 1) else cycle
    channel.ready = begun + router.routing
    if rarely(way & BRANCHES != 0):
        begin_copies(m, credit, router, channel)
    else:
        channel.onward, channel.is_last, channel.allowed = (
            link_place(credit, way),
            way & WAY_ENDS,
            set_of(way),
        )
        if way & WAY_ENDS:
            place = front_of(m, channel).flit >> PLACE_SHIFT
            for line in range(0, TRANSFER_WORDS, LINE):
                prefetch(m, place + line)


@inner
def bid_by_age(m, credit, asks, cycle):
    """Heads that have just got a virtual channel with a credit bid, too. Returns the outputs' bits."""
    wanted = np.int64(0)
    for number in range(asks):
        ask = ask_at(m, credit.asks + number * ASK_WORDS)
        channel = channel_at(m, ask.channel)
        if channel.given == _NONE or not is_free(credit, link_at(m, channel.onward), cycle):
            continue
        if has_credit(m, channel.given, cycle):
            wanted |= bid(m, credit, ask.channel)
    return wanted


@inner
def give_switch(m, op, times, credit, router, wanted, cycle):
    """Pass flits through the switch: at most one from each of its inputs and one to each output. Bids are void afterwards."""
    if credit.allocator == codes.ISLIP:
        pass_as_granted(m, op, times, credit, router, wanted, cycle)
    elif credit.allocator == codes.AGE:
        pass_by_age(m, op, times, credit, router, wanted, cycle)
    else:
        pass_as_chosen(m, op, times, credit, router, wanted, cycle)
    if rarely(credit.copied != 0):
        pass_along(m, op, times, credit, wanted, cycle)
    while wanted != 0:
        m[credit.bids + lowest_bit(wanted)] = 0
        wanted &= wanted - 1


@inlined
def input_of(m, router, into):
    """An input of the switch."""
    return input_at(m, router.switch + into * INPUT_WORDS)


@inner
def pass_as_granted(m, op, times, credit, router, wanted, cycle):
    """iSLIP: each output grants an input, each input accepts an output; in each iteration."""
    used_inputs, used_outputs = np.int64(0), np.int64(0)
    granted = credit.matches  # by input: outputs that grant it, as bits
    for iteration in range(credit.iterations):
        inputs, todo = np.int64(0), wanted & ~used_outputs
        while todo != 0:
            output = lowest_bit(todo)
            some = m[credit.bids + output] & ~used_inputs
            todo &= todo - 1
            if some == 0:
                continue
            into = first_from(some, link_at(m, m[router.outputs + output]).grant)
            m[granted + into] = (m[granted + into] if inputs >> into & 1 else np.int64(0)) | np.int64(1) << output
            inputs |= np.int64(1) << into
        if inputs == 0:
            return
        used_inputs |= inputs
        while inputs != 0:
            into = lowest_bit(inputs)
            inputs &= inputs - 1
            output = first_from(m[granted + into], input_of(m, router, into).accept)
            used_outputs |= np.int64(1) << output
            pass_on(m, op, times, credit, router, into, output, iteration == 0, cycle)


@inner
def pass_as_chosen(m, op, times, credit, router, wanted, cycle):
    """Round robin: each input chooses an output, each output takes one of the inputs that have chosen it.

    Both prefer those whose flits have a virtual channel to heads that speculate.
    """
    chosen, firmly = credit.matches, np.int64(0)
    # At `chosen` by output the inputs that have chosen it, as bits; of the outputs in `firmly` these do not speculate.
    todo, inputs = wanted, np.int64(0)
    while todo != 0:
        output = lowest_bit(todo)
        m[chosen + output] = 0
        inputs |= m[credit.bids + output]
        todo &= todo - 1
    while inputs != 0:
        into = lowest_bit(inputs)
        inputs &= inputs - 1
        some, firm = list_bids(m, credit, wanted, into)
        output = first_from(choose(firm != 0, firm, some), input_of(m, router, into).accept)
        bit, mine = np.int64(1) << output, np.int64(1) << into
        if firm == 0 and firmly & bit != 0:
            continue
        m[chosen + output] = mine | choose(firm != 0 and firmly & bit == 0, 0, m[chosen + output])
        firmly |= choose(firm != 0, bit, 0)
    while wanted != 0:
        output = lowest_bit(wanted)
        wanted &= wanted - 1
        if m[chosen + output] != 0:
            into = first_from(m[chosen + output], link_at(m, m[router.outputs + output]).grant)
            pass_on(m, op, times, credit, router, into, output, True, cycle)


@inlined
def list_bids(m, credit, wanted, into):
    """The bits of the outputs that an input bids for, and of these of those that it has no head for which speculates."""
    some, firm = np.int64(0), np.int64(0)
    while wanted != 0:
        output = lowest_bit(wanted)
        wanted &= wanted - 1
        bit = (m[credit.bids + output] >> into & 1) << output
        some |= bit
        firm |= choose(is_guess(m, credit, output, into), 0, bit)
    return some, firm


@inner
def pass_by_age(m, op, times, credit, router, wanted, cycle):
    """The flit that has been longest in its buffer passes; then the next of those whose input and output are not used."""
    used = np.int64(0)  # inputs
    while wanted != 0:
        oldest, best_into, best_output, todo = NEVER, 0, _NONE, wanted
        while todo != 0:
            output = lowest_bit(todo)
            todo &= todo - 1
            some = m[credit.bids + output] & ~used
            while some != 0:
                into = lowest_bit(some)
                some &= some - 1
                came = m[label_of(credit, output, into) + 1] >> RANK_SHIFT
                if came < oldest:
                    oldest, best_into, best_output = came, into, output
        if best_output == _NONE:
            return
        wanted &= ~(np.int64(1) << best_output)
        used |= np.int64(1) << best_into
        pass_on(m, op, times, credit, router, best_into, best_output, False, cycle)


@inner
def pass_on(m, op, times, credit, router, into, output, is_turned, cycle):
    """The flit that bids passes the switch from an input to an output, unless it speculated and has no channel or credit."""
    place = m[label_of(credit, output, into)]
    m[credit.bids + output] = 0  # it is not taken by a copy that goes along
    if CHECKED:
        assert channel_at(m, place).onward == m[router.outputs + output], (
            "a flit passes to another output than it bids for"
        )
    if turn_pointers(m, credit, router, place, is_turned, cycle):
        if rarely(channel_at(m, place).is_last >= IS_COPY):
            pass_copy(m, op, times, credit, place, cycle)
            note_winner(m, credit, into, place)
        else:
            pass_flit(m, op, times, credit, place, cycle)


@inlined
def pass_alone(m, op, times, credit, router, place, cycle):
    """As `pass_on`, for a flit that passes whatever others bid for (docs/engine.md, "Networks with credits")."""
    if turn_pointers(m, credit, router, place, True, cycle):
        pass_flit(m, op, times, credit, place, cycle)


@inlined
def turn_pointers(m, credit, router, place, is_turned, cycle):
    """A bid has got its output: pointers move past it. Returns whether a flit can pass."""
    channel = channel_at(m, place)
    into, onward = input_at(m, channel.input), link_at(m, channel.onward)
    if is_turned:
        grant, accept = into.number + 1, onward.port + 1
        onward.grant = 0 if grant == router.ports * credit.input_speedup else grant
        into.accept = 0 if accept == router.ports else accept
    turn = channel.index + credit.input_speedup
    turn -= into.channel_n & -np.int64(turn >= into.channel_n)  # without a branch
    while turn >= into.channel_n:
        turn -= into.channel_n
    into.first = turn
    return channel.given != _NONE and has_credit(m, channel.given, cycle)


@inlined
def pass_flit(m, op, times, credit, place, cycle):
    """The flit at the front of a virtual channel passes the switch."""
    channel = channel_at(m, place)
    flit, is_last = take_front(m, credit, channel, cycle), channel.is_last == 1
    onward, given = link_at(m, channel.onward), channel.given
    if CHECKED:
        assert _NONE == -1, "NONE is not all bits"
    tail = -(flit & 1)  # all bits, which are NONE, or no bit
    channel.onward, channel.given = channel.onward | tail, channel.given | tail
    cross(m, op, times, credit, onward, given, flit + 2, is_last, cycle, False)
