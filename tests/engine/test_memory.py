"""Arrays aligned to cache lines."""

import pytest

from kernbench.engine.memory import Memory, aligned_zeros
from kernbench.machine import load_machine


@pytest.mark.parametrize("count", [1, 1 << 10, 1 << 16, (1 << 20) + 3])
def test_they_are_zeros_from_a_line_on(count):
    words = aligned_zeros(count)
    assert words.shape == (count,)
    assert not words.any()
    assert words.ctypes.data % 128 == 0


@pytest.mark.slow
def test_the_memory_of_a_run_stays_so_when_it_grows():
    memory = Memory(load_machine("tiny"), hybrid=True)
    words = memory.words
    for _ in range(16):
        memory.grow_jobs()
    assert memory.words is not words
    assert memory.words.ctypes.data % 128 == 0
