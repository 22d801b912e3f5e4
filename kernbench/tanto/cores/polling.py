"""Elements of locals that kernels read: in time a read waits for the write whose value it gets, and a poll for the next.

A read that has to wait is a race, unless it is a poll: a kernel reads one element again and again, and does nothing else. How
often it does so depends on time, and kernels run before there are times. So a poll becomes a wait: the kernel goes on when
another kernel has changed the element, and in time when that write has arrived. Repetitions take no rows. A poll sees all
values that the element has from its first read on, one after the other, and those before where nothing else can go on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.tanto.timing.dataflow_rows import DataflowRows

if TYPE_CHECKING:
    from kernbench.tanto.cores.local_end import LocalEnd
    from kernbench.tanto.cores.storage import Arrival, LocalPart

_TURNS = 1000  # after which reads of one value are taken for a poll
_MOST = 100  # times so many turns, after which a poll that nobody answers is a deadlock


@dataclass(slots=True)
class Poll:
    """Reads of one element without anything else: the state before their repetitions, and how many there were."""

    part: LocalPart
    index: int
    value: int | float
    mark: int
    c: int
    rows: int  # of the kernel after the last read
    seen: int  # the writes of the part before its value
    begun: int = -1  # the entry of the first read, and the writes that came before, unless it goes on from another
    before: int = 0
    early: int = -1  # what may be a race of the first read
    turns: int = 0
    unanswered: int = 0


def polled(end: LocalEnd, index: int, value: int | float) -> int | float:
    """The value of an element that was read, or if this is a poll the value that follows. Errors: TantoDeadlock."""
    kernel, rows, part = end.kernel, end.kernel.rows, end.part
    if not isinstance(rows, DataflowRows):
        return value
    poll = kernel.poll
    goes_on = poll is not None and poll.part is part and poll.index == index and rows.count <= poll.rows + 1
    if goes_on and poll is not None:
        found = _next_write(end, poll, poll.seen)
        if found is not None:
            return _take(end, poll, found)
    begun, early = rows.count - 1, -1
    if _await_arrival(end, index):
        early = end.run.races.note_early(kernel, part, index, rows.last_row())
    if poll is None or not goes_on or poll.value != value:
        before = kernel.looked.get((part, index), 0)
        kernel.looked[part, index] = part.noted
        kernel.poll = Poll(part, index, value, rows.count, kernel.c, rows.count, part.noted, begun, before, early)
        return value
    poll.rows = rows.count
    poll.turns += 1
    return _wait(end, index, value, poll) if poll.turns >= _TURNS else value


def _await_arrival(end: LocalEnd, index: int) -> bool:
    """Wait in time for the write that an element comes from; returns whether there is one that was not awaited before."""
    kernel, found = end.kernel, end.part.arrival_of(index)
    if found is None or found.kernel is kernel or kernel.awaited.get(found.counter, 0) >= found.value:
        return False
    kernel.awaited[found.counter] = found.value
    kernel.flow.wait_arrival(found.counter, found.value)
    return True


def _wait(end: LocalEnd, index: int, old: int | float, poll: Poll) -> int | float:
    kernel, part, rows = end.kernel, end.part, end.kernel.flow
    what = f"element {index} of {part} to change, which it polls (is {old})"
    value = old
    while value == old:
        kernel.block(part.pollers, what, lenient=True)
        found = _next_write(end, poll, poll.seen)
        if found is not None:
            kernel.released = False
            return _take(end, poll, found)
        value = end.element_at(index)
        if (
            value == old and kernel.released
        ):  # no other kernel goes on; the loop may end by itself, or by a value before
            kernel.released = False
            found = _next_write(end, poll, poll.before) if poll.begun >= 0 else None
            if found is not None:
                return _go_back(end, poll, found)
            poll.turns, poll.unanswered = 0, poll.unanswered + 1
            if poll.unanswered > _MOST:
                kernel.waits_for = what
                raise kernel.scheduler.deadlock()
            return old
    kernel.released, kernel.poll = False, None
    rows.rewind(poll.mark)
    kernel.c = poll.c
    _await_arrival(end, index)
    rows.load()
    return value


def _value_of(end: LocalEnd, index: int, write: Arrival) -> int | float | None:
    """The element that a write brings; None if it is of others, of the kernel itself, or not known."""
    if write.elements is None or write.kernel is end.kernel or not write.first <= index < write.end:
        return None
    return end.element_of(write.elements[index - write.first : index - write.first + 1])


def _next_write(end: LocalEnd, poll: Poll, after: int) -> Arrival | None:
    """The first write, from a number on, that gives the element another value."""
    values = ((one, _value_of(end, poll.index, one)) for one in end.part.arrivals if one.number >= after)
    return next((one for one, value in values if value is not None and value != poll.value), None)


def _take(end: LocalEnd, poll: Poll, write: Arrival) -> int | float:
    """Go on with the value of a write, in time when it has arrived."""
    kernel, rows = end.kernel, end.kernel.flow
    value = _value_of(end, poll.index, write)
    assert value is not None
    rows.rewind(poll.mark)
    kernel.c = poll.c
    kernel.awaited[write.counter] = write.value
    rows.wait_arrival(write.counter, write.value)
    waited = rows.last_row()
    rows.load()
    seen = write.number + 1
    kernel.looked[poll.part, poll.index] = seen
    kernel.poll = following = Poll(poll.part, poll.index, value, rows.count, kernel.c, rows.count, seen)
    change = _next_write(end, following, seen)
    if change is not None and change.row is not None:
        name = f"element {poll.index} of {poll.part}, which no longer is {value:g},"
        end.run.races.note_passed(kernel, name, change.row, waited)
    return value


def _go_back(end: LocalEnd, poll: Poll, write: Arrival) -> int | float:
    """Go on with the value of a write that came before the first read, as if that read had been of it."""
    if poll.early >= 0:
        end.run.races.forget(poll.early)
    poll.mark = poll.begun
    return _take(end, poll, write)
