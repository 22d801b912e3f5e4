"""Elements of locals that kernels read: in time a read waits for the write whose value it gets, and a poll for the next.

A read that has to wait is a race, unless it is a poll: a kernel reads one element again and again, and does nothing else. How
often it does so depends on time, and kernels run before there are times. So a poll becomes a wait: the kernel goes on when
another kernel has changed the element, and in time when that write has arrived. Repetitions take no rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.tanto.timing.dataflow_rows import DataflowRows

if TYPE_CHECKING:
    from kernbench.tanto.cores.local_end import LocalEnd

_TURNS = 1000  # after which reads of one value are taken for a poll
_MOST = 100  # times so many turns, after which a poll that nobody answers is a deadlock


@dataclass(slots=True)
class Poll:
    """Reads of one element without anything else: the state before their repetitions, and how many there were."""

    key: tuple[int, int, int | float]  # part, index, value
    mark: int
    c: int
    rows: int  # of the kernel after the last read
    turns: int = 0
    unanswered: int = 0


def polled(end: LocalEnd, index: int, value: int | float) -> int | float:
    """The value of an element that was read, or if this is a poll the value that follows. Errors: TantoDeadlock."""
    kernel, rows = end.kernel, end.kernel.rows
    if not isinstance(rows, DataflowRows):
        return value
    if _await_arrival(end, index):
        end.run.races.note_early(kernel, end.part, index, rows.last_row())
    key, poll, buffer = (id(end.part), index, value), kernel.poll, rows.buffer
    if poll is None or poll.key != key or buffer.count > poll.rows + 1:
        kernel.poll = Poll(key, buffer.count, kernel.c, buffer.count)
        return value
    poll.rows = buffer.count
    poll.turns += 1
    return _wait(end, index, value, poll) if poll.turns >= _TURNS else value


def _await_arrival(end: LocalEnd, index: int) -> bool:
    """Wait in time for the write that an element comes from; returns whether there is one that was not awaited before."""
    kernel, found = end.kernel, end.part.arrival_of(index)
    if found is None or found.kernel is kernel or kernel.awaited.get(found.counter, 0) >= found.value:
        return False
    kernel.awaited[found.counter] = found.value
    kernel.flow.wait_arrival(kernel.c, found.counter, found.value)
    return True


def _wait(end: LocalEnd, index: int, old: int | float, poll: Poll) -> int | float:
    kernel, part, rows = end.kernel, end.part, end.kernel.flow
    what = f"element {index} of {part} to change, which it polls (is {old})"
    value = old
    while value == old:
        kernel.block(part.pollers, what, lenient=True)
        value = end.element_at(index)
        if value == old and kernel.released:  # no other kernel goes on; the loop may end by itself
            kernel.released = False
            poll.turns, poll.unanswered = 0, poll.unanswered + 1
            if poll.unanswered > _MOST:
                kernel.waits_for = what
                raise kernel.scheduler.deadlock()
            return old
    kernel.released, kernel.poll = False, None
    rows.buffer.rewind(poll.mark)
    kernel.c = poll.c
    _await_arrival(end, index)
    rows.load(kernel.c)
    return value
