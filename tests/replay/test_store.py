"""The memory store: blocks by reference, copied when written."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernbench.replay.store import MemoryStore


def block(*values: int) -> np.ndarray:
    return np.array(values, np.uint8)


def test_a_block_is_kept_by_reference() -> None:
    store, data = MemoryStore(), block(1, 2, 3)
    store.put(0, 16, data)
    store.write(0, 17, block(9))
    assert data.tolist() == [1, 9, 3]
    assert np.shares_memory(store.read(0, 16, 3), data)


def test_a_shared_block_is_copied_when_written() -> None:
    store, data = MemoryStore(), block(1, 2, 3)
    data.flags.writeable = False
    store.put(0, 0, data)
    store.put(1, 0, data)
    store.write(1, 0, block(7))
    assert store.read(0, 0, 3).tolist() == [1, 2, 3]
    assert store.read(1, 0, 3).tolist() == [7, 2, 3]


def test_one_address_in_two_memories_is_two_places() -> None:
    store = MemoryStore()
    store.write(0, 64, block(1))
    store.write(1, 64, block(2))
    assert [store.read(memory, 64, 1).tolist() for memory in (0, 1, 2)] == [[1], [2], [0]]


def test_memory_nobody_wrote_reads_as_zeros() -> None:
    store = MemoryStore()
    assert store.read(5, 100, 3).tolist() == [0, 0, 0]
    store.put(5, 101, block(4))
    assert store.read(5, 100, 3).tolist() == [0, 4, 0]
    assert store.read(5, 100, 0).tolist() == []


STEP = st.tuples(st.booleans(), st.integers(0, 40), st.lists(st.integers(1, 255), max_size=12))


@given(st.lists(STEP, max_size=12), st.integers(0, 50), st.integers(0, 20))
def test_equals_an_array_of_bytes(steps: list[tuple[bool, int, list[int]]], address: int, nbytes: int) -> None:
    store, plain = MemoryStore(), np.zeros(100, np.uint8)
    for by_reference, at, values in steps:
        data = block(*values)
        (store.put if by_reference else store.write)(0, at, data)
        plain[at : at + len(data)] = data
    assert store.read(0, address, nbytes).tolist() == plain[address : address + nbytes].tolist()
