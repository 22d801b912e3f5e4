from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.errors import InputError
from kernbench.machine.address import ADDRESS_BITS, PE_BYTES, Address, MemorySpace, address_bits, base_of, decode

SLICE = 6 * 2**30


def test_the_fields_stand_where_they_should():
    assert ADDRESS_BITS == 51
    assert Address(1, 0, MemorySpace.HBM, 0, 0).encode(SLICE) == 1 << 47
    assert Address(0, 1, MemorySpace.HBM, 0, 0).encode(SLICE) == 1 << 42
    assert Address(0, 0, MemorySpace.HBM, 2, 256).encode(SLICE) == 2 * SLICE + 256
    assert Address(0, 3, MemorySpace.PE, 5, 16).encode(SLICE) == (3 << 42 | 1 << 39 | 5 << 30 | 16)
    assert Address(0, 0, MemorySpace.SRAM, 0, 64).encode(SLICE) == (2 << 39 | 64)
    assert Address(15, 20, MemorySpace.OTHER, 0, 0).encode(SLICE) == (15 << 47 | 20 << 42 | 3 << 39)


@pytest.mark.parametrize(("sips", "bits"), [(1, 51), (2, 51), (16, 51), (17, 52), (32, 52), (64, 53), (1024, 57)])
def test_the_sip_field_grows_upwards_beyond_sixteen(sips, bits):
    assert address_bits(sips) == bits
    last = Address(sips - 1, 20, MemorySpace.OTHER, 0, 2**39 - 1)
    number = last.encode(SLICE, sips)
    assert number < 1 << bits
    assert decode(number, SLICE, sips) == last


def test_a_bigger_tray_moves_no_address_of_a_smaller_one():
    place = Address(15, 7, MemorySpace.PE, 3, 4096)
    assert place.encode(SLICE, 64) == place.encode(SLICE)


sips, cubes, dies = st.integers(0, 15), st.integers(0, 15), st.integers(0, 20)


@given(
    st.builds(Address, sips, cubes, st.just(MemorySpace.HBM), st.integers(0, 7), st.integers(0, SLICE - 1))
    | st.builds(Address, sips, cubes, st.just(MemorySpace.PE), st.integers(0, 511), st.integers(0, PE_BYTES - 1))
    | st.builds(Address, sips, cubes, st.just(MemorySpace.SRAM), st.just(0), st.integers(0, 2**39 - 1))
    | st.builds(Address, sips, dies, st.just(MemorySpace.OTHER), st.just(0), st.integers(0, 2**39 - 1))
)
def test_every_address_reads_back(address):
    number = address.encode(SLICE)
    assert 0 <= number < 2**51
    assert decode(number, SLICE) == address
    assert base_of(number, SLICE) == replace(address, offset=0).encode(SLICE)


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (Address(16, 0, MemorySpace.HBM, 0, 0), "SIP 0x10 is out of range; it is at least 0 and below 0x10"),
        (Address(0, 21, MemorySpace.OTHER, 0, 0), "die 0x15 is out of range; it is at least 0 and below 0x15"),
        (Address(0, 16, MemorySpace.HBM, 0, 0), "die 0x10 is out of range; it is at least 0 and below 0x10"),
        (
            Address(0, 0, MemorySpace.HBM, 0, SLICE),
            "offset in an HBM slice 0x180000000 is out of range; it is at least 0 and below 0x180000000",
        ),
        (
            Address(0, 0, MemorySpace.HBM, 100, 0),
            "HBM offset 0x9600000000 is out of range; it is at least 0 and below 0x8000000000",
        ),
        (
            Address(0, 0, MemorySpace.SRAM, 1, 0),
            "PE of a memory that no PE owns 0x1 is out of range; it is at least 0 and below 0x1",
        ),
        (
            Address(0, 0, MemorySpace.PE, 0, -1),
            "offset in a PE's memory -0x1 is out of range; it is at least 0 and below 0x40000000",
        ),
        (Address(0, 0, MemorySpace.PE, 512, 0), "PE 0x200 is out of range; it is at least 0 and below 0x200"),
    ],
)
def test_what_does_not_fit_is_refused(address, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        address.encode(SLICE)


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (1 << 51, "address 0x8000000000000 is out of range; it is at least 0 and below 0x8000000000000"),
        (-1, "address -0x1 is out of range; it is at least 0 and below 0x8000000000000"),
        (21 << 42, "address 0x540000000000: die 21 is reserved; dies are 0 to 20"),
        (5 << 39, "address 0x28000000000: kind 5 is reserved; kinds are 0 to 3"),
        (17 << 42, "address 0x440000000000: die 17 is an IO chiplet, which has no HBM memory"),
    ],
)  # fmt: skip
def test_numbers_that_are_no_address_are_refused(number, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        decode(number, SLICE)
