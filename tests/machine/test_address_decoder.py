"""Decoding of physical addresses: arrays of them like single ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.machine import load_machine
from kernbench.machine.address import MemorySpace
from kernbench.machine.address_decoder import ABSENT, AddressDecoder

SLICE = 6 << 30


@pytest.fixture(scope="module")
def decoder() -> AddressDecoder:
    return AddressDecoder(load_machine("tiny").places)


def test_an_address_is_found(decoder: AddressDecoder) -> None:
    places = load_machine("tiny").places
    assert decoder.find(SLICE + 256) == (places.hbm(0, 0, 1), 256, SLICE - 256)
    assert decoder.find(2 * SLICE) is None
    assert decoder.find(-1) is None


addresses = st.builds(
    lambda sip, die, kind, local: sip << 47 | die << 42 | kind << 39 | local,
    st.integers(0, 2), st.integers(0, 22), st.integers(0, 5),
    st.integers(0, 2**39 - 1) | st.integers(0, 2**31) | st.integers(SLICE - 2, SLICE + 2) | st.integers(0, 2**24 + 1),
)  # fmt: skip


@given(st.lists(addresses | st.integers(-5, 5) | st.just(1 << 62), max_size=12))
def test_many_are_found_as_each_is(pa: list[int]) -> None:
    decoder = AddressDecoder(load_machine("tiny").places)
    node, offset, left = decoder.find_many(np.array(pa, np.int64))
    for i, address in enumerate(pa):
        found = decoder.find(address)
        if found is None:
            assert node[i] == ABSENT
        else:
            assert found == (node[i], offset[i], left[i])


def test_a_memory_ends_where_its_own_size_says(decoder: AddressDecoder) -> None:
    places = load_machine("tiny").places
    last = places.address_of(0, 0, MemorySpace.PE, 1, places.shape.tcm_bytes - 1)
    node, _, left = decoder.find_many(np.array([last, last + 1]))
    assert node.tolist() == [places.tcm(0, 0, 1), ABSENT]
    assert left[0] == 1
