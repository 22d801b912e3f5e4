from __future__ import annotations

import pytest

from kernbench.report.style import CATEGORIES, colours, is_logarithmic, time_unit


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [
        ([1, 10], True),
        ([1, 9], False),
        ([2, 4, 8], True),
        ([8, 4, 2], True),
        ([1, 2, 3], False),
        ([0, 100], False),
        ([5], False),
    ],
)
def test_ratios_ask_for_a_logarithmic_axis(values: list[float], logarithmic: bool) -> None:
    assert is_logarithmic(values) is logarithmic


@pytest.mark.parametrize(("longest", "unit"), [(9_999, "ns"), (10_000, "µs"), (9_999_999, "µs"), (10_000_000, "ms")])
def test_times_are_shown_in_a_unit_that_fits(longest: float, unit: str) -> None:
    assert time_unit(longest)[0] == unit


def test_an_order_is_a_gradient_and_a_choice_is_not() -> None:
    assert colours(2, ordered=False) == list(CATEGORIES[:2])
    assert len(set(colours(12, ordered=True))) == 12
    assert len(colours(12, ordered=False)) == 12
