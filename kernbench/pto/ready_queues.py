"""The ready queues: for each shape of tasks some shards, each with a lock; and one for each cluster's pinned tasks."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from kernbench.pto.task import Shape, Task


class Popped(NamedTuple):
    """A task from a queue, when its lock was given back, and how many shards of others were looked at before."""

    task: Task
    free_fs: int
    steals: int


class _Shard:
    __slots__ = ("entries", "free_fs")

    def __init__(self) -> None:
        self.entries: deque[tuple[int, Task]] = deque()  # (from when on it can be seen, task)
        self.free_fs = 0  # of the lock

    def lock(self, now_fs: int, hold_fs: int) -> int:
        self.free_fs = max(now_fs, self.free_fs) + hold_fs
        return self.free_fs


class ReadyQueues:
    """Queues from which all schedulers take; a thread begins with its own shard and then steals from the others."""

    def __init__(self, shards: int, lock_fs: int) -> None:
        self._shards = {shape: [_Shard() for _ in range(shards)] for shape in Shape}
        self._pinned: dict[tuple[int, Shape], _Shard] = {}
        self._lock_fs = lock_fs
        self._count = dict.fromkeys(Shape, 0)
        self.count = 0  # tasks in all queues
        self.steals = 0

    def push(self, task: Task, thread: int, now_fs: int, *, front: bool = False) -> int:
        """Add a task to the shard of a thread; returns the time (fs) from which it can be seen."""
        if task.cluster >= 0:
            shard = self._pinned.setdefault((task.cluster, task.shape), _Shard())
        else:
            shards = self._shards[task.shape]
            shard = shards[thread % len(shards)]
            self._count[task.shape] += 1
        self.count += 1
        seen_fs = shard.lock(now_fs, self._lock_fs)
        (shard.entries.appendleft if front else shard.entries.append)((seen_fs, task))
        return seen_fs

    def seen_fs(self, shape: Shape) -> int | None:
        """From when on a task of a shape can be seen in any shard; None if there is no task."""
        if not self._count[shape]:
            return None
        return min(shard.entries[0][0] for shard in self._shards[shape] if shard.entries)

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
