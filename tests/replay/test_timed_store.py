"""Accesses in the order of their times."""

from __future__ import annotations

import numpy as np

from kernbench.replay.replay import RunTimes
from kernbench.replay.timed_store import NEVER, TimedStore


class Copier:
    """An operation that copies bytes of space 0 one by one: from `source` at given times, to `target` at other times."""

    def __init__(self, store, source, target, read_fs, write_fs, number=0):
        self.memory, self.number = store.raw, number
        self.left = list(zip(range(len(read_fs)), read_fs, write_fs, strict=True))
        self.source, self.target, self.read_fs = source, target, read_fs
        self.held: dict[int, int] = {}
        self.reads, self.writes = [(0, source, len(read_fs))], [(0, target, len(read_fs))]
        self.calls = []

    @property
    def is_done(self):
        return not self.left

    def look(self, issue_fs, end_fs):
        pass

    def next_write(self):
        return (self.left[0][2] if self.left else NEVER, 0, self.number)

    def read_until(self, time_fs):
        for i, at in enumerate(self.read_fs):
            if at <= time_fs and i not in self.held:
                self.held[i] = int(self.memory.read(0, self.source + i, 1)[0])

    def write_first(self):
        i, _, at = self.left.pop(0)
        self.calls.append(at)
        self.memory.write(0, self.target + i, np.array([self.held[i]], np.uint8))

    def write_until(self, time_fs):
        self.calls.append(time_fs)
        while self.left and self.left[0][2] <= time_fs:
            self.write_first()


def at(times, now_fs):
    times.now_fs = now_fs


def test_nothing_is_moved_until_a_range_is_met():
    times = RunTimes()
    store = TimedStore(times)
    store.write(0, 0, np.arange(1, 5, dtype=np.uint8))
    copier = Copier(store, 0, 16, [1, 2, 3, 4], [5, 6, 7, 8])
    store.begin(copier)
    at(times, 6)
    store.read(0, 100, 4)
    store.read(0, 0, 4)  # to read what is read is no conflict
    assert copier.calls == []
    assert store.read(0, 16, 4).tolist() == [1, 2, 0, 0]
    at(times, 20)
    store.finish(copier)
    assert store.read(0, 16, 4).tolist() == [1, 2, 3, 4]
    assert copier.calls[0] == 6  # all that was due at once
    assert copier.is_done


def test_a_write_comes_after_the_reads_that_are_due():
    times = RunTimes()
    store = TimedStore(times)
    store.begin(Copier(store, 0, 16, [1, 2, 3, 4], [5, 6, 7, 8]))
    at(times, 2)
    store.write(0, 0, np.full(4, 9, np.uint8))
    at(times, 20)
    assert store.read(0, 16, 4).tolist() == [0, 0, 9, 9]


def test_operations_that_meet_take_turns():
    times = RunTimes()
    store = TimedStore(times)
    store.write(0, 0, np.arange(1, 5, dtype=np.uint8))
    first = Copier(store, 0, 16, [1, 2, 3, 4], [5, 6, 7, 8])
    second = Copier(store, 16, 32, [6, 6, 8, 8], [9, 9, 9, 9], number=1)  # at one time reads come first
    store.begin(first)
    store.begin(second)
    at(times, 20)
    assert store.read(0, 32, 4).tolist() == [1, 0, 3, 0]  # those that were written by then
    assert store.read(0, 16, 4).tolist() == [1, 2, 3, 4]


def test_an_operation_may_write_what_it_reads_later():
    times = RunTimes()
    store = TimedStore(times)
    store.write(0, 0, np.arange(1, 6, dtype=np.uint8))
    store.begin(Copier(store, 0, 1, [1, 3, 5, 7], [2, 4, 6, 8]))
    at(times, 20)
    assert store.read(0, 0, 5).tolist() == [1, 1, 1, 1, 1]
