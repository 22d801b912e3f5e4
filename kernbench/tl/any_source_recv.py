"""Which message a receive from anywhere takes.

That is known when it runs, so it is an `ask`: of the directions from which a message is there, the next in turn. If there is
none yet, a watcher for each direction, a thread that waits for one arrival, wakes the kernel, which looks again. Watchers stay
where they are when the kernel has its message, and are used again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kernbench.tl.errors import fail

if TYPE_CHECKING:
    from kernbench.program.program import Program, Thread
    from kernbench.tl.ipcq import Ports
    from kernbench.tl.queue import Queue

Pause = Callable[[], object]  # called with an ask as the thread's last row; returns when it is answered


class Watcher:
    """A thread that wakes a PE's kernel when a queue has a message more."""

    __slots__ = ("_armed", "_fired", "_queue", "_woken", "thread")

    def __init__(self, program: Program, queue: Queue, woken: int) -> None:
        self.thread = program.thread(f"{queue.name}/watch")
        self._queue, self._woken = queue, woken
        self._fired = program.counter(f"arrivals seen by {self.thread.name}")
        self._armed = 0

    def arm(self, read_counter: Callable[[int], int]) -> None:
        """Watch for the next message that nobody has received, unless it still watches."""
        if read_counter(self._fired) == self._armed:
            self._armed += 1
            self.thread.wait(self._queue.arrived, self._queue.received + 1)
            self.thread.add(self._woken)
            self.thread.add(self._fired)


def choose(ports: Ports, thread: Thread, pause: Pause | None) -> str:
    """The direction whose next message a receive from anywhere takes; returns when there is one."""
    queues = [ports.inward(direction) for direction in ports.directions]
    if len(queues) == 1:
        return ports.directions[0]
    if pause is None:
        fail("tl.recv got no direction in a kernel that cannot wait", "give one")
    watchers, woken = ports.watchers(queues)
    while True:
        thread.ask()
        pause()
        there = [ports.read_counter(queue.arrived) > queue.received for queue in queues]
        if any(there):
            turn = next(
                at % len(queues) for at in range(ports.turn, ports.turn + len(queues)) if there[at % len(queues)]
            )
            ports.turn = turn + 1
            return ports.directions[turn]
        for watcher in watchers:
            watcher.arm(ports.read_counter)
        thread.wait(woken, ports.read_counter(woken) + 1)
