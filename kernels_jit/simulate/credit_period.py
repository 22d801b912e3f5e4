"""Long transfers that meet no other in a network with credits: when their state comes again, they are not served any more.

What becomes of the flits of a transfer that has its links and memories to itself follows from their state. So if that is,
relative to time, as it was P cycles before, it comes again every P cycles, as long as there are flits at the source. The
transfer is *suspended*: its links look empty, and its source sleeps until shortly before its flits come to an end. When that
is due, or another transfer comes to one of its links, it is *resumed*: all periods that are over are added at once, and
the cycles after them are served for it alone (docs/engine.md, "Networks with credits").
"""

from __future__ import annotations

from kernels_jit.compile.bits import lowest_bit
from kernels_jit.compile.jit import CHECKED, inner
from kernels_jit.layout import codes
from kernels_jit.layout.access import state_at, step_at, transfer_at
from kernels_jit.layout.records import NEVER, WAIT_STEPS
from kernels_jit.simulate.credit_claims import PAUSE, let_go, reserve, row_of
from kernels_jit.simulate.credit_skip import add_waits
from kernels_jit.simulate.credit_state import memory_of, note_state, sent_of, source_of
from kernels_jit.simulate.credit_suspension import resume, suspend
from kernels_jit.simulate.credit_ways import memory_on, way_of

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
    row.sent, row.left = sent_of(m, credit, row), source_of(m, credit, row).flits_left
    add_waits(m, credit, number, 0)
    if not note_state(m, credit, number, begin, True):
        let_go(m, credit, number)
        row.pause = row.most_looks * PAUSE


@inner
def is_again(m, credit, number, begin):
    """Whether the state of a transfer has come again; then it is suspended, in checked runs when it has come once more."""
    row = row_of(m, credit, number)
    sent, left = sent_of(m, credit, row) - row.sent, source_of(m, credit, row).flits_left
    is_within = row.left - left == sent and memory_of(m, row) != row.first  # no packet has begun since
    if sent == 0 or not (is_within or left == row.left) or not note_state(m, credit, number, begin, False):
        return False
    rest = left - 1 if is_within else unbegun_flits(m, credit, row) - 1
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
def unbegun_flits(m, credit, row):
    """The flits of a transfer whose packets have not begun."""
    transfer, step_number = transfer_at(m, row.transfer), memory_of(m, row)
    left = (
        memory_on(m, credit, way_of(m, row.first)).left
        if step_number == row.first
        else source_of(m, credit, row).flits_left
    )
    return transfer.flits - sent_of(m, credit, row) - left


@inner
def first_due(m, credit):
    """The first cycle in which a suspended transfer is due, or NEVER."""
    first, todo = NEVER, credit.suspended
    while todo != 0:
        first = min(first, row_of(m, credit, lowest_bit(todo)).due)
        todo &= todo - 1
    return first
