"""Page maps: exact regions, later write wins, physical addresses where nothing is mapped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.errors import AddressError
from kernbench.host.memory.page_table import PageMap
from kernbench.host.memory.va_regions import Regions
from kernbench.machine.address_decoder import ABSENT, Segment


class Memories:
    """One memory, node 99, of so many bytes from physical address 0 on."""

    def __init__(self, nbytes: int) -> None:
        self._bytes = nbytes

    def find(self, pa: int) -> Segment | None:
        return (99, pa, self._bytes - pa) if 0 <= pa < self._bytes else None

    def find_many(self, pa: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.where((pa >= 0) & (pa < self._bytes), 99, ABSENT), pa, self._bytes - pa


nowhere, physical = Memories(0), Memories(1000)


def mapped(memories: Memories, regions: Regions) -> PageMap:
    return PageMap(memories).install(regions)


def test_two_regions_share_a_page() -> None:
    page = mapped(nowhere, Regions.of([(4096, 4100, 1, 0), (4100, 4106, 2, 512)]))
    assert page.translate(4098, 4) == [(1, 2, 2), (2, 512, 2)]


def test_the_later_write_wins_and_leaves_the_rest() -> None:
    page = mapped(nowhere, Regions.of([(100, 200, 1, 0)])).install(Regions.of([(120, 140, 2, 0)]))
    assert page.translate(100, 100) == [(1, 0, 20), (2, 0, 20), (1, 40, 60)]


def test_unmapping_uncovers_nothing() -> None:
    later = Regions.of([(120, 140, 2, 0)])
    page = mapped(nowhere, Regions.of([(100, 200, 1, 0)])).install(later).install(later.absent())
    with pytest.raises(AddressError) as error:
        page.translate(110, 20)
    assert str(error.value) == (
        "address 0x78 is mapped by no tensor and is not the physical address of a memory; "
        "check the pointer arithmetic of the kernel"
    )


def test_an_unmapped_address_is_a_physical_one_up_to_the_next_region() -> None:
    page = mapped(physical, Regions.of([(500, 600, 1, 0)]))
    assert page.translate(490, 10) == [(99, 490, 10)]
    assert page.translate(700, 300) == [(99, 700, 300)]


@pytest.mark.parametrize(("va", "way"), [(490, "into a tensor at 0x1f4"), (590, "out of a tensor at 0x258")])
def test_an_access_is_mapped_as_a_whole_or_not_at_all(va: int, way: str) -> None:
    with pytest.raises(AddressError) as error:
        mapped(physical, Regions.of([(500, 600, 1, 0)])).translate(va, 20)
    assert str(error.value) == (
        f"the access to 20 bytes at {va:#x} runs {way}; check the shape and the pointer arithmetic of the kernel"
    )


def test_neighbours_that_continue_one_another_are_one() -> None:
    page = mapped(nowhere, Regions.of([(0, 10, 1, 0), (10, 20, 1, 10), (20, 30, 1, 25)]))
    assert page.translate(5, 10) == [(1, 5, 10)]
    assert page.translate(15, 10) == [(1, 15, 5), (1, 25, 5)]


def test_what_is_told_to_many_maps_is_merged_once() -> None:
    base, later = mapped(nowhere, Regions.of([(0, 10, 1, 0)])), Regions.of([(5, 15, 2, 0)])
    others = [base.install(Regions.of([(100 * i, 100 * i + 1, i, 0)])) for i in (3, 4)]
    merged: dict[tuple[int, ...], Regions] = {}
    maps = [page.install(later, merged) for page in others]
    assert len(merged) == 1
    assert [page.translate(3, 4) for page in maps] == [[(1, 3, 2), (2, 0, 2)]] * 2
    assert [page.translate(100 * i, 1) for page, i in zip(maps, (3, 4), strict=True)] == [[(3, 0, 1)], [(4, 0, 1)]]


def test_an_empty_map_is_all_physical() -> None:
    assert PageMap(physical).translate(3, 4) == [(99, 3, 4)]
    assert PageMap(physical).install(Regions.of([])).translate(3, 4) == [(99, 3, 4)]


REGIONS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=5)


@given(st.lists(REGIONS, max_size=5), st.lists(st.tuples(st.integers(0, 70), st.integers(1, 20)), max_size=5))
def test_equals_a_map_of_single_bytes(writes: list[list[tuple[int, int]]], reads: list[tuple[int, int]]) -> None:
    page, bytewise, node = PageMap(physical), {}, 0
    for regions in writes:
        rows, taken = [], 0
        for start, size in sorted(regions):
            start = max(start, taken)
            taken = start + size
            node += 1
            rows.append((start, taken, node, node * 100))
            bytewise |= {start + i: (node, node * 100 + i) for i in range(size)}
        page = page.install(Regions.of(rows))
    for va, nbytes in reads:
        expected = [bytewise.get(a, (99, a)) for a in range(va, va + nbytes)]
        if len({node == 99 for node, _ in expected}) > 1:
            with pytest.raises(AddressError, match="a tensor at"):
                page.translate(va, nbytes)
            continue
        assert [(n, o + i) for n, o, size in page.translate(va, nbytes) for i in range(size)] == expected
        one = page.translate(va, nbytes) if expected[0][0] != 99 else []
        assert page.locate(va, nbytes) == (one[0] if len(one) == 1 else None)
    if reads:
        va, nbytes = (np.array(column) for column in zip(*reads, strict=True))
        for (address, size), node, offset in zip(reads, *page.translate_many(va, nbytes), strict=True):
            whole = {bytewise.get(a, (99, 0))[0] for a in range(address, address + size)}
            if node != ABSENT:
                assert page.translate(address, size) == [(node, offset, size)]
            else:
                assert len(whole) > 1


def test_many_addresses_that_are_not_mapped_are_physical_ones() -> None:
    page = mapped(physical, Regions.of([(500, 600, 1, 0)]))
    va, nbytes = np.array([0, 490, 490, 590, 700, 990, 5000]), np.array([10, 10, 11, 11, 300, 11, 1])
    node, offset = page.translate_many(va, nbytes)
    assert node.tolist() == [99, 99, ABSENT, ABSENT, 99, ABSENT, ABSENT]
    assert offset[[0, 1, 4]].tolist() == [0, 490, 700]
