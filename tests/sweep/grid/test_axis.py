from __future__ import annotations

import pytest

from kernbench.sweep.grid.axis import Span, linspace, logspace, stepped


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ((64, 256, 64), (64, 128, 192, 256)),
        ((64, 255, 64), (64, 128, 192)),
        ((256, 64, -64), (256, 192, 128, 64)),
        ((5, 5, 1), (5,)),
        ((0.1, 0.4, 0.1), (0.1, 0.2, 0.3, 0.4)),
    ],
)
def test_steps_include_the_end_and_stay_exact(given: tuple[int, int, int], values: tuple[int, ...]) -> None:
    assert stepped(*given) == values


def test_steps_of_integers_are_integers() -> None:
    assert all(type(value) is int for value in stepped(1, 3, 1))
    assert all(type(value) is float for value in stepped(1, 3, 1.0))


def test_linspace_includes_both_ends() -> None:
    assert linspace(0.0, 1.0, 5) == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert linspace(8, 32, 4) == (8, 16, 24, 32)


def test_logspace_multiplies() -> None:
    assert logspace(8, 128, 5) == (8, 16, 32, 64, 128)
    assert logspace(1.0, 100.0, 3) == (1.0, 10.0, 100.0)
    assert logspace(100.0, 1.0, 3) == (100.0, 10.0, 1.0)


def test_between_integers_lie_integers_each_once() -> None:
    assert logspace(1, 4, 5) == (1, 2, 3, 4)
    assert linspace(1, 3, 5) == (1, 2, 3)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: stepped(1, 2, 0), "steps of 0 never lead from 1 to 2"),
        (lambda: stepped(1, 2, -1), "steps of -1 never lead from 1 to 2"),
        (lambda: stepped(0, 1, 1e-9), "1,000,000,001 values are more than the 1,000,000 an axis may have"),
        (lambda: linspace(1, 2, 1), "the count of values must be 2 or more, not 1"),
        (lambda: linspace(0.0, 1.0, 2_000_000), "2,000,000 values are more than the 1,000,000 an axis may have"),
        (lambda: logspace(0, 2, 3), "logspace goes from above 0 to above 0, not from 0 to 2"),
    ],
)
def test_what_makes_no_axis_says_why(make: object, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        make()  # type: ignore[operator]
    assert str(caught.value) == sentence


def test_a_span_of_integers_has_equal_shares() -> None:
    span = Span(1, 4)
    assert span.at((0.0, 0.24, 0.26, 0.5, 0.76, 1.0)) == [1, 1, 2, 3, 4, 4]


def test_a_span_of_numbers_has_twelve_digits_and_ends() -> None:
    assert Span(0.0, 1.0).at([1 / 3]) == [0.333333333333]
    assert Span(8, 32.0, logarithmic=True).at((0.0, 0.5, 1.0)) == [8.0, 16.0, 32.0]
    assert [type(number) for number in Span(8, 32.0).at((0.0, 0.5, 1.0))] == [float] * 3
    assert Span(1, 1000, logarithmic=True).at([0.5]) == [22]


@pytest.mark.parametrize(
    ("low", "high", "logarithmic", "sentence"),
    [
        (2, 2, False, "a span goes from a smaller number to a larger, not from 2 to 2"),
        (0, 2, True, "a span of scale log begins above 0, not at 0"),
    ],
)
def test_a_span_without_numbers_is_refused(low: int, high: int, logarithmic: bool, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        Span(low, high, logarithmic)
    assert str(caught.value) == sentence
