"""Receive from any source: choose the direction whose message is taken.

The choice is known only at run time, so it is an `ask`. Of the directions with a message, the next in turn is taken. If there
is none yet, each direction has a watcher, a thread that waits for one arrival and wakes the kernel, which looks again.
Watchers stay armed when the kernel has its message, and are reused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernbench.tl.language.errors import fail

if TYPE_CHECKING:
    from kernbench.program.program import Program
    from kernbench.program.thread import Thread
    from kernbench.tl.lowering.ipcq import PeQueues
    from kernbench.tl.lowering.queue import Queue

Pause = Callable[[], object]  # called with an ask as the thread's last row; returns when the ask has run


class Watcher:
    """A thread that wakes a PE's kernel when a queue has one more message."""

    __slots__ = ("_armed", "_fired", "_queue", "_woken", "thread")

    def __init__(self, program: Program, queue: Queue, woken: int) -> None:
        self.thread = program.thread(f"{queue.name}/watch")
        self._queue, self._woken = queue, woken
        self._fired = program.counter(f"arrivals seen by {self.thread.name}")
        self._armed = 0

    def arm(self, read_counter: Callable[[int], int]) -> None:
        """Watch for the next message that is not yet received, unless the watcher is still armed."""
        if read_counter(self._fired) == self._armed:
            self._armed += 1
            self.thread.wait(self._queue.arrived, self._queue.received + 1)
            self.thread.add(self._woken)
            self.thread.add(self._fired)


def choose(queues: PeQueues, thread: Thread, pause: Pause | None) -> str:
    """Return the direction of the next message for a receive from any source; waits until there is one."""
    inward = [queues.inward(direction) for direction in queues.directions]
    if len(inward) == 1:
        return queues.directions[0]
    if pause is None:
        fail("tl.recv got no direction in a kernel that cannot wait", "give one")
    watchers, woken = queues.watchers(inward)
    while True:
        thread.ask()
        pause()
        there = [queues.read_counter(queue.arrived) > queue.received for queue in inward]
        if any(there):
            turn = next(
                at % len(inward) for at in range(queues.turn, queues.turn + len(inward)) if there[at % len(inward)]
            )
            queues.turn = turn + 1
            return queues.directions[turn]
        for watcher in watchers:
            watcher.arm(queues.read_counter)
        thread.wait(woken, queues.read_counter(woken) + 1)
