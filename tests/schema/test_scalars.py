"""Values of parameters as their defaults."""

from __future__ import annotations

import re

import pytest

from kernbench.errors import InputError
from kernbench.schema.scalars import read_parameter


@pytest.mark.parametrize(
    ("default", "value", "unit", "read"),
    [
        (512, "1Ki", "", 1024),
        (512, "0x10", "", 16),
        (4096, "1MiB", "B", 1 << 20),
        (4096, 64.0, "B", 64),
        (0.5, "2us", "ns", 2000.0),
        (0.5, "1e-3", "", 0.001),
        ("f16", "4KiB", "B", "4KiB"),
        (True, "false", "", False),
    ],
)
def test_a_value_is_of_the_type_of_its_default(default: object, value: object, unit: str, read: object) -> None:
    found = read_parameter("x", default, value, unit)  # type: ignore[arg-type]
    assert (found, type(found)) == (read, type(read))


@pytest.mark.parametrize(
    ("value", "unit", "sentence"),
    [
        ("fast", "", "x is int, as its default 512; got 'fast'"),
        (1.5, "", "x is int, as its default 512; got 1.5"),
        (True, "", "x is int, as its default 512; got True"),
        (
            "1.5KiB",
            "ns",
            "x is int, as its default 512; got '1.5KiB' with the unknown unit 'KiB', expected ",
        ),
        ("0.3B", "B", "x is int, as its default 512; got '0.3B', expected a whole number of B"),
    ],
)
def test_what_does_not_fit(value: object, unit: str, sentence: str) -> None:
    with pytest.raises(InputError, match=f"^{re.escape(sentence)}"):
        read_parameter("x", 512, value, unit)
