from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.errors import InputError
from kernbench.machine.address import Address, Kind, decode

SLICE = 6 * 2**30


def test_the_fields_stand_where_they_should():
    assert Address(1, 0, Kind.HBM, 0, 0).encode(SLICE) == 1 << 47
    assert Address(0, 1, Kind.HBM, 0, 0).encode(SLICE) == 1 << 42
    assert Address(0, 0, Kind.HBM, 2, 256).encode(SLICE) == 2 * SLICE + 256
    assert Address(15, 20, Kind.OTHER, 0, 0).encode(SLICE) == (15 << 47 | 20 << 42 | 3 << 40)


sips, cubes, dies = st.integers(0, 15), st.integers(0, 15), st.integers(0, 20)


@given(
    st.builds(Address, sips, cubes, st.just(Kind.HBM), st.integers(0, 7), st.integers(0, SLICE - 1))
    | st.builds(Address, sips, dies, st.just(Kind.PE), st.integers(0, 255), st.integers(0, 2**32 - 1))
    | st.builds(Address, sips, dies, st.sampled_from([Kind.SRAM, Kind.OTHER]), st.just(0), st.integers(0, 2**40 - 1))
)
def test_every_address_reads_back(address):
    number = address.encode(SLICE)
    assert 0 <= number < 2**51
    assert decode(number, SLICE) == address


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        (Address(16, 0, Kind.HBM, 0, 0), "SIP 0x10 is out of range; it is at least 0 and below 0x10"),
        (Address(0, 21, Kind.HBM, 0, 0), "die 0x15 is out of range; it is at least 0 and below 0x15"),
        (Address(0, 0, Kind.HBM, 0, SLICE), "offset in an HBM slice 0x180000000 is out of range; "
                                            "it is at least 0 and below 0x180000000"),
        (Address(0, 0, Kind.SRAM, 1, 0), "PE of a memory that no PE owns 0x1 is out of range; it is at least 0 and below 0x1"),
        (Address(0, 0, Kind.PE, 0, -1), "offset in a PE's memory -0x1 is out of range; it is at least 0 and below 0x100000000"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(address, sentence):
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}$"):
        address.encode(SLICE)


def test_numbers_that_are_no_address_are_refused():
    with pytest.raises(InputError, match=r"^address 0x8000000000000 is out of range; "):
        decode(1 << 51, SLICE)
    with pytest.raises(InputError, match=r"^address 0x540000000000: die 21 is reserved; dies are 0 to 20$"):
        decode(21 << 42, SLICE)
