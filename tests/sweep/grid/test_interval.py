from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.expression import Condition, Expression
from kernbench.sweep.grid.interval import Interval, find_interval

FORMULAS = [
    "a + b",
    "a - b * 2",
    "-a / b",
    "a * b - a",
    "(a + 1) / (b - 3)",
    "a ** 2 + b",
    "b ** 0.5",
    "2 ** a",
    "a % b",
    "a // b",
    "a * (b > 2)",
]
CONDITIONS = ["a < b", "a <= 3 <= b", "a > b or b >= 2", "not (a == b)", "a != 2 and b < 5", "a in [1, 2]"]
NUMBERS = st.floats(-8, 8).map(lambda number: round(number, 2))


def column(*ends: float) -> Interval:
    low, high = np.array([min(ends)], float), np.array([max(ends)], float)
    return Interval(low, high)


@pytest.mark.parametrize("text", FORMULAS)
@given(a=st.tuples(NUMBERS, NUMBERS), b=st.tuples(NUMBERS, NUMBERS), at=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_the_value_lies_between_the_ends(text, a, b, at):
    names = {
        name: min(max(ends[0] + (ends[1] - ends[0]) * x, min(ends)), max(ends))
        for name, ends, x in (("a", a, at[0]), ("b", b, at[1]))
    }
    found = find_interval(Expression(text), {"a": column(*a), "b": column(*b)}, 1)
    try:
        value = Expression(text).figure(names)
    except ValueError:
        return
    assert found.low[0] <= value <= found.high[0]


@pytest.mark.parametrize("text", CONDITIONS)
@given(a=st.tuples(NUMBERS, NUMBERS), b=st.tuples(NUMBERS, NUMBERS))
def test_a_truth_is_sure_or_open(text, a, b):
    found = find_interval(Condition(text), {"a": column(*a), "b": column(*b)}, 1)
    for x in a:
        for y in b:
            assert found.low[0] <= Condition(text).holds({"a": x, "b": y}) <= found.high[0]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("a * 2 + 1", (3, 5)),
        ("a / b", (0.25, 1)),
        ("a < 3", (1, 1)),
        ("a < 1.5", (0, 1)),
        ("a > 2", (0, 0)),
        ("c + 1", (-np.inf, np.inf)),
        ("'x' == 'x'", (0, 1)),
        ("1 / (a - 1.5)", (-np.inf, np.inf)),
        ("0 * c", (0, 0)),
    ],
)
def test_how_close_the_ends_are(text, ends):
    found = find_interval(Expression(text), {"a": column(1, 2), "b": column(2, 4)}, 1)
    assert (found.low[0], found.high[0]) == ends


def test_points_are_apart():
    found = find_interval(Expression("a * a"), {"a": Interval(np.array([1.0, -3.0]), np.array([2.0, -3.0]))}, 2)
    assert found.low.tolist() == [1, 9]
    assert found.high.tolist() == [4, 9]
