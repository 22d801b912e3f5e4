"""The memory store: blocks by reference, copied when written."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernbench.replay.deferred import Deferred, DeferredBlock
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


def deferred(*values: int) -> tuple[DeferredBlock, Deferred[list[np.ndarray]]]:
    """A block that is not made, and the array that it is made of."""
    arrays = Deferred(lambda: [block(*values)])
    return DeferredBlock(arrays, 0, 0, len(values)), arrays


def test_a_deferred_block_is_made_when_it_is_read_or_written() -> None:
    store = MemoryStore()
    read, of_read = deferred(1, 2, 3)
    written, of_written = deferred(4, 5, 6)
    replaced, of_replaced = deferred(7, 8, 9)
    for at, one in ((0, read), (3, written), (6, replaced)):
        store.put(0, at, one)
    store.put(0, 6, block(0, 0, 0))
    assert not of_read.is_made
    assert store.read(0, 1, 1).tolist() == [2]
    assert (of_read.is_made, of_written.is_made) == (True, False)
    store.write(0, 4, block(0))
    assert store.read(0, 0, 9).tolist() == [1, 2, 3, 4, 0, 6, 0, 0, 0]
    assert not of_replaced.is_made


def test_what_is_read_later_is_what_was_there() -> None:
    store, (first, arrays) = MemoryStore(), deferred(1, 2, 3, 4)
    store.put(0, 0, first)
    kept = store.read_later(0, 1, 2)
    assert isinstance(kept, DeferredBlock)
    assert not arrays.is_made
    store.write(0, 1, block(9))
    assert arrays.is_made
    assert kept.make().tolist() == [2, 3]
    assert store.read(0, 0, 4).tolist() == [1, 9, 3, 4]


def test_what_is_made_or_lies_in_several_blocks_is_read_at_once() -> None:
    store = MemoryStore()
    store.put(0, 0, deferred(1, 2)[0])
    store.put(0, 2, deferred(3, 4)[0])
    several = store.read_later(0, 1, 2)
    assert isinstance(several, np.ndarray)
    assert several.tolist() == [2, 3]
    assert isinstance(store.read_later(0, 0, 1), np.ndarray)
    assert np.asarray(store.read_later(7, 0, 2)).tolist() == [0, 0]


BYTES = st.lists(st.integers(1, 255), max_size=12)
STEP = st.tuples(st.sampled_from(["put", "defer", "share", "write", "later"]), st.integers(0, 40), BYTES)


@given(st.lists(STEP, max_size=16), st.integers(0, 50), st.integers(0, 20))
def test_equals_an_array_of_bytes(steps: list[tuple[str, int, list[int]]], address: int, nbytes: int) -> None:
    store, plain = MemoryStore(), np.zeros(200, np.uint8)
    later: list[tuple[np.ndarray | DeferredBlock, list[int]]] = []
    for step, at, values in steps:
        data, end = block(*values), at + len(values)
        if step == "later":
            found = store.read_later(0, at, len(values))
            later.append((found if isinstance(found, DeferredBlock) else found.copy(), plain[at:end].tolist()))
            continue
        plain[at:end] = data
        if step == "share":  # two places of one array
            data.flags.writeable = False
            plain[at + 100 : end + 100] = data
            arrays = Deferred(lambda data=data: [data])
            store.put(0, at, DeferredBlock(arrays, 0, 0, len(data)))
            store.put(0, at + 100, DeferredBlock(arrays, 0, 0, len(data)))
        elif step == "defer":
            store.put(0, at, deferred(*values)[0])
        else:
            (store.put if step == "put" else store.write)(0, at, data)
    assert store.read(0, address, nbytes).tolist() == plain[address : address + nbytes].tolist()
    for found, values in later:
        assert (found.make() if isinstance(found, DeferredBlock) else found).tolist() == values
    assert store.read(0, 0, 200).tolist() == plain.tolist()
