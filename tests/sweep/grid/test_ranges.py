"""Ranges as one text."""

from __future__ import annotations

import re

import pytest

from kernbench.sweep.grid.ranges import expand_range, is_range, spread


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("16:64:16", (16, 32, 48, 64)),
        ("16:60:16", (16, 32, 48)),
        ("16:128:x2", (16, 32, 64, 128)),
        ("16:100:x2", (16, 32, 64)),
        ("64:16:x0.5", (64, 32, 16)),
        ("1:1:x2", (1,)),
        ("0.1:0.4:x2", (0.1, 0.2, 0.4)),
        ("0.5:2:lin4", (0.5, 1.0, 1.5, 2.0)),
        ("8:64:log4", (8, 16, 32, 64)),
        (" 4 KiB : 16 KiB : x2 ", ("4KiB", "8KiB", "16KiB")),
        ("4KiB:16384B:x2", ("4KiB", "8KiB", "16KiB")),
        ("1us:2us:500ns", ("1.0us", "1.5us", "2.0us")),
        ("64:16:-16", (64, 48, 32, 16)),
    ],
)
def test_the_values_of_a_range(text: str, values: tuple[object, ...]) -> None:
    assert is_range(text)
    found = expand_range(text)
    assert found == values
    assert [type(value) for value in found] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("64:16:x2", "times 2 never leads from 64 to 16"),
        ("1:9:x1", "times 1 never leads from 1 to 9"),
        ("0:9:x2", "times 2 never leads from 0 to 9"),
        ("1:9:-1", "steps of -1 never lead from 1 to 9"),
        ("1:9:lin1", "the count of values must be 2 or more, not 1"),
        ("1:9:lin2.5", "got 'lin2.5', expected a whole number of values"),
        (
            "1:9:xx",
            "got 'xx', expected FIRST:LAST:STEP, FIRST:LAST:xFACTOR, FIRST:LAST:linCOUNT or FIRST:LAST:logCOUNT",
        ),
        ("4:16KiB:x2", "got 4:16KiB, where some numbers have a unit and some have none; give each its unit"),
        ("4KiB:16KiB:4", "got 4KiB:16KiB:4, where some numbers have a unit and some have none; give each its unit"),
        ("1:1000000000:1", "1,000,000,000 values are more than the 1,000,000 an axis may have"),
    ],
)
def test_what_is_no_range(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        expand_range(text)


def test_units_of_two_kinds() -> None:
    with pytest.raises(
        ValueError, match="got '9ns' with the unknown unit 'ns', expected a number, alone or in one of: B, KB"
    ):
        expand_range("4KiB:9ns:x2")
    with pytest.raises(ValueError, match="got the unknown unit 'parsec'; known: fs, ps"):
        expand_range("4parsec:9parsec:x2")


def test_other_texts_are_none() -> None:
    assert not any(map(is_range, ("64", "1:2", "a:b:c", "C:/x:y", "::", "")))


def test_a_list_of_three_is_the_same() -> None:
    assert spread(16, 64, 16) == expand_range("16:64:16")
    assert spread("4KiB", "8KiB", "2KiB") == ("4KiB", "6KiB", "8KiB")
