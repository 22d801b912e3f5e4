"""Regions of addresses, and one set of them written over another."""

from __future__ import annotations

import pytest

from kernbench.errors import AddressError
from kernbench.host.memory.va_regions import NONE, Regions, overlay
from kernbench.host.messages import MapEntry, Shard
from tests.host.memory.test_page_table import physical


def test_regions_are_sorted_and_empty_ones_dropped() -> None:
    regions = Regions.of([(20, 30, 1, 0), (0, 10, 2, 5), (12, 12, 3, 0)])
    assert regions.rows == [(0, 10, 2, 5), (20, 30, 1, 0)]
    assert (len(regions), regions.starts) == (2, [0, 20])


def test_regions_of_a_message() -> None:
    entries = (MapEntry(8192, Shard(0, 0, 0, 500, 100)), MapEntry(4096, Shard(0, 0, 1, 0, 10)))
    assert Regions.leading_to(entries, physical).rows == [(4096, 4106, 99, 0), (8192, 8292, 99, 500)]


@pytest.mark.parametrize(("pa", "nbytes"), [(990, 11), (1000, 1)])
def test_a_message_to_no_memory(pa: int, nbytes: int) -> None:
    with pytest.raises(AddressError) as error:
        Regions.leading_to([MapEntry(0, Shard(0, 0, 0, pa, nbytes))], physical)
    assert str(error.value) == (
        f"a mapping of {nbytes} bytes at {pa:#x} does not lie in one memory of the machine; "
        "give the physical address of a shard"
    )


@pytest.mark.parametrize(
    ("later", "rows"),
    [
        ((0, 10, 2, 0), [(0, 10, 2, 0), (10, 30, 1, 10)]),
        ((12, 20, 2, 0), [(0, 12, 1, 0), (12, 20, 2, 0), (20, 30, 1, 20)]),
        ((0, 30, 2, 0), [(0, 30, 2, 0)]),
        ((40, 50, 2, 0), [(0, 30, 1, 0), (40, 50, 2, 0)]),
        ((30, 40, 1, 30), [(0, 40, 1, 0)]),
    ],
)
def test_the_later_one_wins(later: tuple[int, int, int, int], rows: list[object]) -> None:
    assert overlay(Regions.of([(0, 30, 1, 0)]), Regions.of([later])).rows == rows


def test_what_leads_nowhere_goes() -> None:
    both = Regions.of([(0, 30, 1, 0), (40, 50, 2, 0)])
    assert overlay(both, Regions.of([(10, 45, 9, 9)]).absent()).rows == [(0, 10, 1, 0), (45, 50, 2, 5)]
    assert overlay(both, both.absent()) is NONE
    assert overlay(NONE, NONE) is NONE
