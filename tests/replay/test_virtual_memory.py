"""The memory view of one PE."""

from __future__ import annotations

import numpy as np

from kernbench.replay.deferred import Deferred, DeferredBlock
from kernbench.replay.store import MemoryStore
from kernbench.replay.virtual_memory import VirtualMemory


def odd_and_even(va: int, nbytes: int) -> list[tuple[int, int, int]]:
    """Each byte in one of two memories."""
    return [(address % 2, address // 2, 1) for address in range(va, va + nbytes)]


def test_elements_over_many_pieces() -> None:
    store = MemoryStore()
    memory = VirtualMemory(store, odd_and_even)
    memory.write(3, np.array([[1, 2], [3, 4]], np.int16).T)
    assert memory.read(3, (2, 2), "i16").tolist() == [[1, 3], [2, 4]]
    assert store.read(1, 1, 2).tolist() == [1, 3]


def test_a_read_is_a_copy() -> None:
    memory = VirtualMemory(MemoryStore(), lambda va, nbytes: [(0, va, nbytes)])
    memory.write(0, np.ones(2, np.float32))
    before = memory.read(0, (2,), "f32")
    memory.write(0, np.zeros(2, np.float32))
    assert before.tolist() == [1, 1]


def test_elements_of_a_deferred_block_can_be_read_later() -> None:
    arrays = Deferred(lambda: [np.arange(4, dtype=np.int16).view(np.uint8)])
    store = MemoryStore()
    store.put(0, 0, DeferredBlock(arrays, 0, 0, 8))
    memory = VirtualMemory(store, lambda va, nbytes: [(0, va, nbytes)])
    before = memory.read_later(2, (1, 2), "i16")
    assert isinstance(before, Deferred)
    assert not arrays.is_made
    memory.write(2, np.zeros(2, np.int16))
    assert before.make().tolist() == [[1, 2]]
    assert before.make().flags.writeable
    after = memory.read_later(0, (4,), "i16")
    assert isinstance(after, np.ndarray)
    assert after.tolist() == [0, 0, 0, 3]


def test_elements_over_many_pieces_are_read_at_once() -> None:
    memory = VirtualMemory(MemoryStore(), odd_and_even)
    memory.write(3, np.array([1, 2], np.int16))
    assert np.asarray(memory.read_later(3, (2,), "i16")).tolist() == [1, 2]
