"""A router of a network with credits: in each cycle it computes routes, allocates output VCs, then the switch.

`serve_router` looks at each input VC whose front can be seen, in the state that `vc_states` draws. Those with a flit for
the switch stand in `credit.switch_candidates`, and at `credit.winners` for each output the one that its pointer chooses. A port
has `input_speedup` inputs of the switch; from each of them one flit requests each output. At `credit.switch_requests` stand the
inputs that request each output, as bits, then for each pair the place of the input VC that requests and its rank.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.branches import choose, rarely
from kernels_jit.compile.jit import CHECKED, inlined, inner
from kernels_jit.compile.prefetch import LINE, prefetch
from kernels_jit.credits.copies import (
    begin_copies,
    grant_copies_along,
    note_winner,
    serve_copies,
    traverse_switch_as_copy,
)
from kernels_jit.credits.hop_codes import hop_code_of, hop_code_place, link_place, vc_set_of
from kernels_jit.credits.input_vcs import WORD_VCS, input_vc_place, next_visible, visible_vcs
from kernels_jit.credits.link import (
    allowed_vcs,
    first_from,
    free_by,
    front_of,
    has_credit,
    held_vcs,
    is_free,
    next_step,
    take_front,
    traverse_link,
)
from kernels_jit.credits.stages import begin_routing
from kernels_jit.credits.switch_requests import (
    CANDIDATE_SHIFT,
    PORT_MASK,
    PORT_SHIFT,
    RANK_SHIFT,
    any_has_credit,
    is_speculative,
    request_place,
    request_switch,
)
from kernels_jit.credits.vc_allocation import allocate_vcs, request_vc
from kernels_jit.credits.vc_states import is_vc_active, is_vc_forked, is_vc_idle, is_vc_routing, is_vc_waiting
from kernels_jit.layout import codes
from kernels_jit.layout.access import (
    INPUT_WORDS,
    TRANSFER_WORDS,
    VC_REQUEST_WORDS,
    input_at,
    input_vc_at,
    link_at,
    vc_request_at,
)
from kernels_jit.layout.records import (
    HOP_CODE_BRANCHES,
    HOP_CODE_ENDS,
    IS_COPY,
    NEVER,
    PLACE_BITS,
    PLACE_SHIFT,
)

_NONE = codes.NONE
WINNER_MASK = (1 << PLACE_BITS) - 1


@inlined
def serve_router(m, op, times, credit, router, cycle):
    """One cycle of a router. Returns the next cycle in which it may have something to do, or NEVER.

    Bits of outputs: `requested` by heads, `contended` by several heads, `outputs` of candidates for the switch, `mixed` of
    candidates whose input wants several outputs, `wanted` by copies. Bits of inputs of the switch: `inputs` of candidates.
    """
    next_cycle, requests, candidates, wanted = NEVER, 0, 0, np.int64(0)
    requested, contended = np.int64(0), np.int64(0)
    outputs, inputs, mixed = np.int64(0), np.int64(0), np.int64(0)
    until_fs = free_by(credit, cycle)
    first = 0
    while first < router.room:  # shorter than a range with steps
        todo = visible_vcs(m, router, first, cycle)
        while todo != 0:
            bit = lowest_bit(todo)
            todo &= todo - 1
            vc = first + bit
            place = input_vc_place(router, vc)
            after = input_vc_place(router, first + lowest_bit(todo | np.int64(todo == 0) << bit))
            input_vc = input_vc_at(m, place)
            prefetch(m, after)
            if CHECKED:
                seen = m[router.visible_at + vc]
                assert seen == front_of(m, input_vc).cycle, "a flit can be seen in another cycle than its router thinks"
            if is_vc_idle(input_vc):
                fetch_hop_code(m, after)
                compute_route(m, credit, router, input_vc, cycle)
            if input_vc.ready > cycle:
                next_cycle = min(next_cycle, input_vc.ready)
                continue
            next_cycle = cycle + 1
            if rarely(is_vc_forked(input_vc)):
                requests, some, wants = serve_copies(m, credit, vc, input_vc, requests, cycle)
                requested, contended, wanted = requested | some, contended | requested & some, wanted | wants
                continue
            out_link = link_at(m, input_vc.out_link)
            if not is_vc_active(input_vc):
                free = allowed_vcs(m, credit, input_vc) & ~held_vcs(m, credit, out_link, cycle)
                if free == 0:
                    continue
                some = np.int64(1) << out_link.port
                requested, contended = requested | some, contended | requested & some
                requests = request_vc(m, credit, requests, place, vc, free)
                if credit.speculative == 0 or credit.allocator == codes.AGE:
                    continue
                if out_link.free_fs >= until_fs or not any_has_credit(m, out_link, free, cycle):
                    continue
            elif out_link.free_fs >= until_fs or not has_credit(m, input_vc.out_vc, cycle):
                continue
            port, number = out_link.port, (input_vc.input - router.switch) // INPUT_WORDS
            best, wants = credit.winners + port, credit.matches + number
            m[best] = min(
                choose(outputs >> port & 1 == 0, NEVER, m[best]),
                switch_turn(m, credit, out_link, input_vc, place, number),
            )
            some = choose(inputs >> number & 1 == 0, 0, m[wants]) | np.int64(1) << port
            m[wants], mixed = some, mixed | choose(some & (some - 1) == 0, 0, some)
            outputs, inputs = outputs | np.int64(1) << port, inputs | np.int64(1) << number
            prefetch(m, input_vc.front)
            m[credit.switch_candidates + candidates] = place << CANDIDATE_SHIFT | port << PORT_SHIFT | number
            candidates += 1
        first += WORD_VCS
    if next_cycle > cycle + 1:
        next_cycle = min(next_cycle, next_visible(m, router, cycle))
    if requests > 0 or candidates > 0 or wanted != 0:
        heads, flits = (requests, requested, contended), (candidates, outputs, mixed)
        allocate(m, op, times, credit, router, heads, flits, wanted, cycle)
    return next_cycle


@inlined
def allocate(m, op, times, credit, router, heads, flits, wanted, cycle):
    """Allocate output VCs to heads that request them, and the switch to flits.

    `heads`: the number of VC requests, and bits of the outputs with any and with several of them. `flits`: the number of
    candidates for the switch, and bits of their outputs and of outputs of inputs that want several. `wanted`: bits of the
    outputs that copies request.
    """
    (requests, requested, contended), (candidates, outputs, mixed) = heads, flits
    if rarely(
        wanted != 0 or credit.allocator == codes.AGE
    ):  # copies request, or heads will that get a virtual channel now
        mixed = np.int64(-1)
    if mixed != 0:
        wanted |= request_outputs(m, credit, candidates, mixed)
        outputs &= ~mixed
    if requests > 0:
        allocate_vcs(m, credit, router, requests, requested, contended, cycle)
        if rarely(credit.speculative == 1 and credit.allocator == codes.AGE):
            wanted |= request_switch_by_age(m, credit, requests, cycle)
    passed = np.int64(0)  # inputs
    while outputs != 0:
        place = m[credit.winners + lowest_bit(outputs)] & WINNER_MASK
        outputs &= outputs - 1
        if CHECKED:
            into = np.int64(1) << input_at(m, input_vc_at(m, place).input).number
            assert passed & into == 0, "two flits pass from one input"
            passed |= into
        grant_switch_alone(m, op, times, credit, router, place, cycle)
    if wanted != 0:
        allocate_switch(m, op, times, credit, router, wanted, cycle)


@inlined
def switch_turn(m, credit, out_link, input_vc, place, number):
    """When an input VC has its turn at an output that its pointer alone chooses for; ends in its place.

    Inputs come in turn from the output's pointer on, and at one input virtual channels by rank, as in `request_switch`. In
    round robin heads that speculate come after all others.
    """
    guesses = np.int64(input_vc.out_vc == _NONE)
    rank = input_vc.index - input_at(m, input_vc.input).first & PORT_MASK | guesses << PORT_SHIFT
    turn = (number - out_link.grant & PORT_MASK) << PORT_SHIFT + 1 | rank
    turn |= (guesses & np.int64(credit.allocator == codes.ROUND_ROBIN)) << 2 * PORT_SHIFT + 1
    return turn << PLACE_BITS | place


@inner
def request_outputs(m, credit, candidates, some):
    """Candidates request their outputs if these are among some. Returns the bits of the outputs."""
    wanted = np.int64(0)
    for number in range(candidates):
        candidate = m[credit.switch_candidates + number]
        if some >> (candidate >> PORT_SHIFT & PORT_MASK) & 1:
            wanted |= request_switch(m, credit, candidate >> CANDIDATE_SHIFT)
    return wanted


@inlined
def fetch_hop_code(m, place):
    """Hint at the hop code of the flit at the front of an input VC."""
    prefetch(m, hop_code_place(m, next_step(front_of(m, input_vc_at(m, place)).flit)))


@inner
def compute_route(m, credit, router, input_vc, cycle):
    """Route computation: the packet that has come to the front of a buffer gets its next link, or those of its branches."""
    if CHECKED:
        assert is_vc_idle(input_vc), "a packet is routed twice"
        assert not is_vc_active(input_vc), "a packet is routed before the one ahead of it has left"
    hop_code = hop_code_of(m, next_step(front_of(m, input_vc).flit))
    begun = begin_routing(m, router, cycle) if rarely(router.routing > 1) else cycle
    input_vc.ready = begun + router.routing
    if rarely(hop_code & HOP_CODE_BRANCHES != 0):
        begin_copies(m, credit, router, input_vc)
    else:
        input_vc.out_link, input_vc.is_last, input_vc.allowed = (
            link_place(credit, hop_code),
            hop_code & HOP_CODE_ENDS,
            vc_set_of(hop_code),
        )
        if hop_code & HOP_CODE_ENDS:
            place = front_of(m, input_vc).flit >> PLACE_SHIFT
            for line in range(0, TRANSFER_WORDS, LINE):
                prefetch(m, place + line)
    if CHECKED:
        is_routed = is_vc_routing(input_vc, cycle) or is_vc_waiting(input_vc, cycle) or is_vc_forked(input_vc)
        assert is_routed, "a packet has no route after its route was computed"


@inner
def request_switch_by_age(m, credit, requests, cycle):
    """Heads that have just got an output VC with a credit request the switch, too. Returns the outputs' bits."""
    wanted = np.int64(0)
    for number in range(requests):
        request = vc_request_at(m, credit.vc_requests + number * VC_REQUEST_WORDS)
        input_vc = input_vc_at(m, request.input_vc)
        if not is_vc_active(input_vc) or not is_free(credit, link_at(m, input_vc.out_link), cycle):
            continue
        if has_credit(m, input_vc.out_vc, cycle):
            wanted |= request_switch(m, credit, request.input_vc)
    return wanted


@inner
def allocate_switch(m, op, times, credit, router, wanted, cycle):
    """Flits pass the switch: at most one from each of its inputs and one to each output. Requests are void afterwards."""
    if credit.allocator == codes.ISLIP:
        allocate_switch_islip(m, op, times, credit, router, wanted, cycle)
    elif credit.allocator == codes.AGE:
        allocate_switch_by_age(m, op, times, credit, router, wanted, cycle)
    else:
        allocate_switch_round_robin(m, op, times, credit, router, wanted, cycle)
    if rarely(credit.copied != 0):
        grant_copies_along(m, op, times, credit, wanted, cycle)
    while wanted != 0:
        m[credit.switch_requests + lowest_bit(wanted)] = 0
        wanted &= wanted - 1


@inlined
def input_of(m, router, into):
    """An input of the switch."""
    return input_at(m, router.switch + into * INPUT_WORDS)


@inner
def allocate_switch_islip(m, op, times, credit, router, wanted, cycle):
    """iSLIP: each output grants an input, each input accepts an output; in each iteration."""
    used_inputs, used_outputs = np.int64(0), np.int64(0)
    granted = credit.matches  # by input: outputs that grant it, as bits
    for iteration in range(credit.iterations):
        inputs, todo = np.int64(0), wanted & ~used_outputs
        while todo != 0:
            output = lowest_bit(todo)
            some = m[credit.switch_requests + output] & ~used_inputs
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
            grant_switch(m, op, times, credit, router, into, output, iteration == 0, cycle)


@inner
def allocate_switch_round_robin(m, op, times, credit, router, wanted, cycle):
    """Round robin: each input chooses an output, each output takes one of the inputs that have chosen it.

    Both prefer those whose flits have a virtual channel to heads that speculate.
    """
    chosen, firmly = credit.matches, np.int64(0)
    # At `chosen` by output the inputs that have chosen it, as bits; of the outputs in `firmly` these do not speculate.
    todo, inputs = wanted, np.int64(0)
    while todo != 0:
        output = lowest_bit(todo)
        m[chosen + output] = 0
        inputs |= m[credit.switch_requests + output]
        todo &= todo - 1
    while inputs != 0:
        into = lowest_bit(inputs)
        inputs &= inputs - 1
        some, firm = list_requests(m, credit, wanted, into)
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
            grant_switch(m, op, times, credit, router, into, output, True, cycle)


@inlined
def list_requests(m, credit, wanted, into):
    """The bits of the outputs that an input requests, and of those that it requests for no head that speculates."""
    some, firm = np.int64(0), np.int64(0)
    while wanted != 0:
        output = lowest_bit(wanted)
        wanted &= wanted - 1
        bit = (m[credit.switch_requests + output] >> into & 1) << output
        some |= bit
        firm |= choose(is_speculative(m, credit, output, into), 0, bit)
    return some, firm


@inner
def allocate_switch_by_age(m, op, times, credit, router, wanted, cycle):
    """The flit that has been longest in its buffer passes; then the next of those whose input and output are not used."""
    used = np.int64(0)  # inputs
    while wanted != 0:
        oldest, best_into, best_output, todo = NEVER, 0, _NONE, wanted
        while todo != 0:
            output = lowest_bit(todo)
            todo &= todo - 1
            some = m[credit.switch_requests + output] & ~used
            while some != 0:
                into = lowest_bit(some)
                some &= some - 1
                came = m[request_place(credit, output, into) + 1] >> RANK_SHIFT
                if came < oldest:
                    oldest, best_into, best_output = came, into, output
        if best_output == _NONE:
            return
        wanted &= ~(np.int64(1) << best_output)
        used |= np.int64(1) << best_into
        grant_switch(m, op, times, credit, router, best_into, best_output, False, cycle)


@inner
def grant_switch(m, op, times, credit, router, into, output, is_turned, cycle):
    """The flit that requests an output from an input passes, unless it speculated and has no virtual channel or credit."""
    place = m[request_place(credit, output, into)]
    m[credit.switch_requests + output] = 0  # it is not taken by a copy that goes along
    if CHECKED:
        assert input_vc_at(m, place).out_link == m[router.outputs + output], (
            "a flit passes to another output than it requested"
        )
    if turn_pointers(m, credit, router, place, is_turned, cycle):
        if rarely(input_vc_at(m, place).is_last >= IS_COPY):
            traverse_switch_as_copy(m, op, times, credit, place, cycle)
            note_winner(m, credit, into, place)
        else:
            traverse_switch(m, op, times, credit, place, cycle)


@inlined
def grant_switch_alone(m, op, times, credit, router, place, cycle):
    """As `grant_switch`, for a flit that passes whatever others request (docs/credits.md, "Requests without arbiters")."""
    if turn_pointers(m, credit, router, place, True, cycle):
        traverse_switch(m, op, times, credit, place, cycle)


@inlined
def turn_pointers(m, credit, router, place, is_turned, cycle):
    """A request has got its output: pointers move past it. Returns whether a flit can pass."""
    input_vc = input_vc_at(m, place)
    into, out_link = input_at(m, input_vc.input), link_at(m, input_vc.out_link)
    if CHECKED:
        is_guess = credit.speculative == 1 and is_vc_waiting(input_vc, cycle)
        assert is_vc_active(input_vc) or is_guess, "a flit gets the switch before its packet may request an output VC"
    if is_turned:
        grant, accept = into.number + 1, out_link.port + 1
        out_link.grant = 0 if grant == router.ports * credit.input_speedup else grant
        into.accept = 0 if accept == router.ports else accept
    turn = input_vc.index + credit.input_speedup
    turn -= into.vc_n & -np.int64(turn >= into.vc_n)  # without a branch
    while turn >= into.vc_n:
        turn -= into.vc_n
    into.first = turn
    return is_vc_active(input_vc) and has_credit(m, input_vc.out_vc, cycle)


@inlined
def traverse_switch(m, op, times, credit, place, cycle):
    """The flit at the front of a virtual channel passes the switch."""
    input_vc = input_vc_at(m, place)
    if CHECKED:
        assert is_vc_active(input_vc), "a flit passes the switch without an output VC"
    flit, is_last = take_front(m, credit, input_vc, cycle), input_vc.is_last == 1
    out_link, out_vc = link_at(m, input_vc.out_link), input_vc.out_vc
    if CHECKED:
        assert _NONE == -1, "NONE is not all bits"
    tail = -(flit & 1)  # all bits, which are NONE, or no bit
    input_vc.out_link, input_vc.out_vc = input_vc.out_link | tail, input_vc.out_vc | tail
    traverse_link(m, op, times, credit, out_link, out_vc, flit + 2, is_last, cycle, False)
