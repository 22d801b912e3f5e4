"""Loads from texts."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.traffic.loads import parse_loads


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("0.3", [0.3]),
        ("1", [1.0]),
        ("0.1, 0.05", [0.1, 0.05]),
        ("0.05:0.2:0.05", [0.05, 0.1, 0.15, 0.2]),
        ("0.1:0.35:0.1", [0.1, 0.2, 0.3]),
        ("0.5:0.5:1", [0.5]),
    ],
)
def test_numbers_and_ranges(text: str, loads: list[float]) -> None:
    assert parse_loads(text) == loads


@pytest.mark.parametrize("text", ["", "x", "0.1:0.2", "0.1:0.2:0.1:1", "0.1,,0.2", "nan", "0.1:inf:0.1"])
def test_other_forms(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_loads(text)
    assert str(error.value) == f"--load {text!r} is none of 0.3, 0.1,0.2,0.3 and FIRST:LAST:STEP such as 0.05:0.6:0.05"


@pytest.mark.parametrize(("text", "got"), [("0", "0"), ("-0.1", "-0.1"), ("0.5:1.5:0.5", "1.5")])
def test_loads_that_no_endpoint_can_offer(text: str, got: str) -> None:
    with pytest.raises(InputError) as error:
        parse_loads(text)
    assert str(error.value) == (
        f"--load {text!r}: got {got}, expected more than 0 and at most 1, the whole bandwidth of an endpoint"
    )


@pytest.mark.parametrize("text", ["0.1:0.2:0", "0.2:0.1:0.1", "0.1:1:0.0001"])
def test_ranges_that_do_not_rise(text: str) -> None:
    with pytest.raises(InputError) as error:
        parse_loads(text)
    assert str(error.value) == f"--load {text!r} should rise from first to last, in 1,000 steps at most"
