"""The rings of the runtime: task slots, the heap of output buffers, and the pool of dependency entries."""

from __future__ import annotations

from collections import deque

from kernbench.pto.settings import align
from kernbench.pto.tasks.memory import HEAP_BASE

UNLIMITED = 1 << 62  # slots or bytes


class TaskRing:
    """Slots of tasks. Ids only grow; a task has slot `id & (window - 1)` until it is retired."""

    __slots__ = ("current", "last_alive", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.current = 0  # the next id
        self.last_alive = 0  # the oldest id that is not retired

    @property
    def active(self) -> int:
        """The number of slots in use."""
        return self.current - self.last_alive

    @property
    def has_room(self) -> bool:
        """Whether a slot can be given out; one stays empty, to tell a full ring from an empty one."""
        return self.active < self.window - 1

    def slot(self, task: int) -> int:
        """The slot of a task."""
        return task & (self.window - 1)


class HeapRing:
    """Buffers one behind the other in a circle; none crosses the end. `tail` is where the oldest buffer in use begins."""

    __slots__ = ("align_bytes", "size", "tail", "top")

    def __init__(self, size: int, align_bytes: int) -> None:
        self.size = size
        self.align_bytes = align_bytes
        self.top = 0
        self.tail = 0

    @property
    def available(self) -> int:
        """The bytes of the largest free stretch, at the end or at the beginning; all of them if nothing is in use."""
        if self.top == self.tail:
            return self.size
        return self.tail - self.top if self.top < self.tail else max(self.size - self.top, self.tail)

    def find(self, nbytes: int) -> int | None:
        """The offset of a buffer, or None if there is no room. A buffer that reached the tail would make full look empty."""
        nbytes = align(nbytes, self.align_bytes)
        if self.top >= self.tail and nbytes <= self.size - self.top:
            return self.top
        if self.top >= self.tail:
            return 0 if nbytes < self.tail or (self.top == self.tail and nbytes <= self.size) else None
        return self.top if nbytes < self.tail - self.top else None

    def allocate(self, nbytes: int) -> int | None:
        """As `find`, and the buffer is in use from now on."""
        at = self.find(nbytes)
        if at is not None:
            if self.top == self.tail:  # nothing is in use, wherever the last buffer ended
                self.tail = at
            self.top = at + align(nbytes, self.align_bytes)
        return at

    def free_to(self, end: int) -> None:
        """Give back all up to the end of a retired task's buffers."""
        self.tail = end

    @property
    def used(self) -> int:
        """The bytes between tail and top."""
        return self.top - self.tail if self.top >= self.tail else self.size - self.tail + self.top

    @staticmethod
    def address(offset: int) -> int:
        """The address of an offset."""
        return HEAP_BASE + offset


class DepPool:
    """Entries of dependency lists, given out in a circle but for entry 0. One is free when its producer is retired."""

    __slots__ = ("_producers", "size", "top")

    def __init__(self, size: int) -> None:
        self.size = size
        self.top = 1
        self._producers: deque[int] = deque()  # of the entries in use, the oldest first

    @property
    def used(self) -> int:
        """The number of entries in use."""
        return len(self._producers)

    def has_room(self, last_alive: int) -> bool:
        """Whether the next entry of the circle is free."""
        while self._producers and self._producers[0] < last_alive:
            self._producers.popleft()
        return len(self._producers) < self.size

    def allocate(self, producer: int) -> int:
        """An entry in the list of a producer. There is room."""
        self._producers.append(producer)
        entry, self.top = self.top, self.top % self.size + 1
        return entry
