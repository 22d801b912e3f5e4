"""First fit and coalescing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernbench.host.memory.allocator import Allocator


def test_takes_the_lowest_block_that_fits() -> None:
    memory = Allocator(0x1000, 0x1000, 0x100)
    first, second, third = (memory.allocate(0x200) for _ in range(3))
    assert (first, second, third) == (0x1000, 0x1200, 0x1400)
    memory.free(0x1000, 0x200)
    assert memory.allocate(0x300) == 0x1600
    assert memory.allocate(1) == 0x1000
    assert memory.allocate(0x100) == 0x1100


def test_a_full_range_gives_none_and_an_exact_fit_succeeds() -> None:
    memory = Allocator(0, 0x400, 0x100)
    assert memory.allocate(0x401) is None
    assert memory.allocate(0x400) == 0
    assert memory.allocate(1) is None
    assert memory.largest_free_bytes == 0


def test_neighbours_join_on_both_sides() -> None:
    memory = Allocator(0, 0x300, 0x100)
    for address in (0, 0x100, 0x200):
        assert memory.allocate(0x100) == address
    memory.free(0, 0x100)
    memory.free(0x200, 0x100)
    assert (memory.free_bytes, memory.largest_free_bytes) == (0x200, 0x100)
    memory.free(0x100, 0x100)
    assert (memory.free_bytes, memory.largest_free_bytes) == (0x300, 0x300)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 900)), max_size=60))
def test_live_blocks_never_overlap_and_all_comes_back(steps: list[tuple[bool, int]]) -> None:
    memory = Allocator(0x10000, 4096, 16)
    live: list[tuple[int, int]] = []
    for take, amount in steps:
        if take or not live:
            address = memory.allocate(amount)
            if address is None:
                assert memory.largest_free_bytes < max(amount, 1)
                continue
            assert address % 16 == 0
            assert all(address + amount <= a or a + n <= address for a, n in live)
            live.append((address, amount))
        else:
            memory.free(*live.pop(amount % len(live)))
    for block in live:
        memory.free(*block)
    assert memory.largest_free_bytes == 4096
