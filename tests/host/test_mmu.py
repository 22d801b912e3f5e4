"""Page maps: exact regions, later write wins, physical addresses where nothing is mapped."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.errors import RunError
from kernbench.host.mmu import ABSENT, PageMap, Regions, Segment


def nowhere(address: int) -> Segment | None:
    return None


def physical(address: int) -> Segment | None:
    return (99, address, 1000 - address) if address < 1000 else None


def test_two_regions_share_a_page() -> None:
    page = PageMap(nowhere, Regions.of([(4096, 4100, 1, 0), (4100, 4106, 2, 512)]))
    assert page.translate(4098, 4) == [(1, 2, 2), (2, 512, 2)]


def test_the_later_write_wins_and_leaves_the_rest() -> None:
    page = PageMap(nowhere, Regions.of([(100, 200, 1, 0)])).install(Regions.of([(120, 140, 2, 0)]))
    assert page.translate(100, 100) == [(1, 0, 20), (2, 0, 20), (1, 40, 60)]


def test_unmapping_uncovers_nothing() -> None:
    later = Regions.of([(120, 140, 2, 0)])
    page = PageMap(nowhere, Regions.of([(100, 200, 1, 0)])).install(later).install(later.absent())
    with pytest.raises(RunError) as error:
        page.translate(110, 20)
    assert str(error.value) == (
        "address 0x78 is mapped by no tensor and is not the physical address of a memory; "
        "check the pointer arithmetic of the kernel"
    )


def test_an_unmapped_address_is_a_physical_one_up_to_the_next_region() -> None:
    page = PageMap(physical, Regions.of([(500, 600, 1, 0)]))
    assert page.translate(490, 10) == [(99, 490, 10)]
    assert page.translate(700, 300) == [(99, 700, 300)]


@pytest.mark.parametrize(("va", "way"), [(490, "into a tensor at 0x1f4"), (590, "out of a tensor at 0x258")])
def test_an_access_is_mapped_as_a_whole_or_not_at_all(va: int, way: str) -> None:
    with pytest.raises(RunError) as error:
        PageMap(physical, Regions.of([(500, 600, 1, 0)])).translate(va, 20)
    assert str(error.value) == (
        f"the access to 20 bytes at {va:#x} runs {way}; check the shape and the pointer arithmetic of the kernel"
    )


def test_neighbours_that_continue_one_another_are_one() -> None:
    page = PageMap(nowhere, Regions.of([(0, 10, 1, 0)])).install(Regions.of([(10, 20, 1, 10)]))
    assert page.translate(5, 10) == [(1, 5, 10)]


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
            with pytest.raises(RunError, match="a tensor at"):
                page.translate(va, nbytes)
            continue
        assert [(n, o + i) for n, o, size in page.translate(va, nbytes) for i in range(size)] == expected
    if reads:
        va, nbytes = (np.array(column) for column in zip(*reads, strict=True))
        for (address, size), node, offset in zip(reads, *page.translate_many(va, nbytes), strict=True):
            whole = {bytewise.get(a, (99, 0))[0] for a in range(address, address + size)}
            if node != ABSENT:
                assert page.translate(address, size) == [(node, offset, size)]
            else:
                assert len(whole) > 1 or whole == {99}
