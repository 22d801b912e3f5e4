"""The memory view of one PE."""

from __future__ import annotations

import numpy as np

from kernbench.replay.store import MemoryStore
from kernbench.replay.window import Window


def odd_and_even(va: int, nbytes: int) -> list[tuple[int, int, int]]:
    """Each byte in one of two memories."""
    return [(address % 2, address // 2, 1) for address in range(va, va + nbytes)]


def test_elements_over_many_pieces() -> None:
    store = MemoryStore()
    window = Window(store, odd_and_even)
    window.write(3, np.array([[1, 2], [3, 4]], np.int16).T)
    assert window.read(3, (2, 2), "i16").tolist() == [[1, 3], [2, 4]]
    assert store.read(1, 1, 2).tolist() == [1, 3]


def test_a_read_is_a_copy() -> None:
    window = Window(MemoryStore(), lambda va, nbytes: [(0, va, nbytes)])
    window.write(0, np.ones(2, np.float32))
    before = window.read(0, (2,), "f32")
    window.write(0, np.zeros(2, np.float32))
    assert before.tolist() == [1, 1]
