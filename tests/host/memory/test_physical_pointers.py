"""Pointers through the parts of a tensor, and what accesses by physical address may not do."""

from __future__ import annotations

from operator import index

import numpy as np
import pytest

from kernbench.errors import AddressError
from kernbench.host.memory.physical_pointers import Extent, PhysicalMap, PhysicalPointer, ranges
from kernbench.host.messages import MapEntry, Shard
from kernbench.machine.address_decoder import ABSENT
from tests.host.memory.test_page_table import Memories

ENTRIES = (MapEntry(1000, Shard(0, 0, 0, 512, 100)), MapEntry(1100, Shard(0, 0, 1, 5000, 50)))
EXTENT = Extent.of("x", 1000, 150, ENTRIES)


def test_adding_bytes_moves_through_the_tensor() -> None:
    x = PhysicalPointer(EXTENT)
    assert [x + 0, x + 99, x + 100, 149 + x, x + 150] == [512, 611, 5000, 5049, 5050]
    assert x + 60 + 60 == x + np.int64(120) == 5020
    assert x + 120 - 60 == 572
    assert (x + 120) - x == 120
    assert isinstance(x + 1, PhysicalPointer)
    assert index(x) == int(x) == 512


def test_what_is_no_number_of_bytes_is_left_to_plain_integers() -> None:
    x, other = PhysicalPointer(EXTENT), PhysicalPointer(Extent.of("y", 0, 10, (MapEntry(0, Shard(0, 0, 0, 100, 10)),)))
    assert x - other == 412
    assert x + other == 612
    assert type(x + other) is int
    assert (x + np.array([0, 200])).tolist() == [512, 712]
    with pytest.raises(TypeError):
        x + "1"  # type: ignore[operator]


@pytest.mark.parametrize("offset", [-1, 151])
def test_bytes_that_the_tensor_lacks(offset: int) -> None:
    with pytest.raises(AddressError) as error:
        PhysicalPointer(EXTENT) + offset
    assert str(error.value) == (
        f"byte {offset} of tensor 'x' does not exist: it has 150; check the pointer arithmetic of the kernel"
    )


def physical() -> PhysicalMap:
    return PhysicalMap(Memories(1000), [ranges([Shard(0, 0, 0, 500, 100)]), ranges([Shard(0, 0, 0, 300, 50)])])


def test_accesses_in_one_shard_or_in_none_pass() -> None:
    assert physical().translate(500, 100) == [(99, 500, 100)]
    assert physical().translate(350, 150) == [(99, 350, 150)]
    assert physical().translate(600, 400) == [(99, 600, 400)]
    assert physical().locate(510, 90) == (99, 510, 90)


@pytest.mark.parametrize(("pa", "nbytes"), [(590, 11), (290, 11), (349, 2), (0, 999)])
def test_no_access_crosses_the_end_of_a_shard(pa: int, nbytes: int) -> None:
    with pytest.raises(AddressError) as error:
        physical().translate(pa, nbytes)
    assert str(error.value) == (
        f"the access to {nbytes} bytes at {pa:#x} crosses the end of a shard; under physical addresses parts of a tensor "
        "lie apart, so access them one by one or set mmu.model to va or la"
    )
    assert physical().translate_many(np.array([pa]), np.array([nbytes]))[0].tolist() == [ABSENT]


def test_no_access_leaves_the_memories() -> None:
    with pytest.raises(AddressError) as error:
        physical().translate(990, 11)
    assert str(error.value) == (
        "address 0x3e8 is not the physical address of a memory; check the pointer arithmetic of the kernel"
    )


def test_many_at_once() -> None:
    pa, nbytes = np.array([500, 310, 0, 990, 2000]), np.array([100, 40, 300, 10, 1])
    node, offset = physical().translate_many(pa, nbytes)
    assert node.tolist() == [99, 99, 99, 99, ABSENT]
    assert offset[:4].tolist() == [500, 310, 0, 990]
    node, _ = PhysicalMap(Memories(1000), []).translate_many(pa, nbytes)
    assert node.tolist() == [99, 99, 99, 99, ABSENT]
