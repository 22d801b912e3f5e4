"""Choices are read as they are told, and what cannot be chosen is refused in a sentence."""

from __future__ import annotations

import pytest

from kernbench.errors import InputError
from kernbench.workloads.kernels.cuts import Cut
from kernbench.workloads.sip.choices import WITHOUT, Choices, read_choices


@pytest.mark.parametrize(
    "choices",
    [WITHOUT, Choices(x=2), Choices(1, 2, 4, 8, Cut(16, 1), 12), Choices(down=Cut(4, 4), splits=1, spread=False)],
)
def test_choices_are_read_as_they_are_told(choices):
    assert read_choices(choices.tell(), "net", 16, 8) == choices


def test_spaces_and_empty_parts_are_nothing():
    assert read_choices(" x=2, down = 16x1 ,", "net", 16, 8) == Choices(x=2, down=Cut(16, 1))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("y=2", "net got choices='y=2': 'y' is no choice; known: down, inner, qkv, splits, spread, units, x"),
        ("x=3", "net got choices='x=3': x cannot be '3'; give 1, 2, 4, 8"),
        ("x", "net got choices='x': x cannot be ''; give 1, 2, 4, 8"),
        ("x=1,x=2", "net got choices='x=1,x=2': x is given twice; give it once"),
        (
            "down=2x2",
            "net got choices='down=2x2': down cannot be '2x2'; give 1x1, 1x4, 1x8, 4x1, 4x4, 4x8, 16x1, 16x4, 16x8",
        ),
        ("splits=0", "net got choices='splits=0': splits cannot be '0'; give 1 or more"),
    ],
)
def test_what_cannot_be_chosen_is_refused(text, sentence):
    with pytest.raises(InputError) as error:
        read_choices(text, "net", 16, 8)
    assert str(error.value) == sentence
