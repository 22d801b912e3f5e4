"""The ready queues: for each shape of tasks some shards, each with a lock; and one for each cluster's pinned tasks."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from kernbench.pto.tasks.task import Shape, Task

_HOLDS = 32  # of a lock that are kept: nobody asks for it as far back as before these


class Popped(NamedTuple):
    """A task from a queue, when its lock was given back, and how many shards of others were looked at before."""

    task: Task
    free_fs: int
    steals: int


class _Shard:
    __slots__ = ("_holds", "entries")

    def __init__(self) -> None:
        self.entries: deque[tuple[int, Task]] = deque()  # (from when on it can be seen, task)
        self._holds: list[tuple[int, int]] = []  # the latest holds of the lock, in order: from when and until when (fs)

    def lock(self, now_fs: int, hold_fs: int) -> int:
        """Hold the lock in the first gap that is long enough; returns its end.

        A thread that works through many tasks takes the lock of each at its time, and others take it in between.
        """
        at = now_fs
        for start_fs, end_fs in self._holds:
            if at + hold_fs <= start_fs:
                break
            at = max(at, end_fs)
        insort(self._holds, (at, at + hold_fs))
        del self._holds[:-_HOLDS]
        return at + hold_fs


class ReadyQueues:
    """Queues from which all schedulers take; a thread begins with its own shard and then steals from the others."""

    def __init__(self, shards: int, lock_fs: int) -> None:
        self._shards = {shape: [_Shard() for _ in range(shards)] for shape in Shape}
        self._pinned: dict[tuple[int, Shape], _Shard] = {}
        self._lock_fs = lock_fs
        self._count = dict.fromkeys(Shape, 0)
        self.count = 0  # tasks in all queues
        self.steals = 0

    def push(self, task: Task, thread: int, now_fs: int) -> int:
        """Add a task to the shard of a thread; returns the time (fs) from which it can be seen."""
        if task.cluster >= 0:
            shard = self._pinned.setdefault((task.cluster, task.shape), _Shard())
        else:
            shards = self._shards[task.shape]
            shard = shards[thread % len(shards)]
            self._count[task.shape] += 1
        self.count += 1
        seen_fs = shard.lock(now_fs, self._lock_fs)
        shard.entries.append((seen_fs, task))
        return seen_fs

    def seen_fs(self, shape: Shape) -> int | None:
        """From when on a task of a shape can be seen in any shard; None if there is no task."""
        if not self._count[shape]:
            return None
        return min(shard.entries[0][0] for shard in self._shards[shape] if shard.entries)

    def has(self, shapes: Iterable[Shape]) -> bool:
        """Whether there is a task of any of these shapes."""
        return any(self._count[shape] for shape in shapes)

    def pinned_fs(self, cluster: int, shape: Shape) -> int | None:
        """As `seen_fs`, for tasks that are pinned to a cluster."""
        shard = self._pinned.get((cluster, shape))
        return shard.entries[0][0] if shard and shard.entries else None

    def pop(self, shape: Shape, thread: int, now_fs: int) -> Popped | None:
        """Take the first task of the own shard that can be seen, or else of the others in turn."""
        shards = self._shards[shape]
        for step in range(len(shards)):
            shard = shards[(thread + step) % len(shards)]
            if shard.entries and shard.entries[0][0] <= now_fs:
                self._count[shape] -= 1
                self.count -= 1
                self.steals += step > 0
                return Popped(shard.entries.popleft()[1], shard.lock(now_fs, self._lock_fs), step)
        return None

    def pop_pinned(self, cluster: int, shape: Shape, now_fs: int) -> Popped | None:
        """Take the first task that is pinned to a cluster."""
        shard = self._pinned.get((cluster, shape))
        if shard and shard.entries and shard.entries[0][0] <= now_fs:
            self.count -= 1
            return Popped(shard.entries.popleft()[1], shard.lock(now_fs, self._lock_fs), 0)
        return None
