"""Ticks at the values that were swept, or at round ones."""

from __future__ import annotations

import pytest

from kernbench.report.figures.ticks import MOST_TICKS, find_ticks, is_logarithmic, tick_texts
from kernbench.report.tables.engineering import BYTES, PLAIN, named, quantity


@pytest.mark.parametrize(
    ("values", "logarithmic"),
    [
        ([1, 10], True),
        ([1, 9], False),
        ([2, 4, 8], True),
        ([8, 4, 2], True),
        ([1, 2, 3], False),
        ([500, 501, 502], False),  # though each is nearly the same multiple of the last
        ([0, 100], False),
        ([5], False),
    ],
)
def test_ratios_ask_for_a_logarithmic_axis(values: list[float], logarithmic: bool) -> None:
    assert is_logarithmic(values) is logarithmic


def test_few_swept_values_are_the_ticks_and_of_many_every_second_or_third() -> None:
    sizes = [2.0**power for power in range(10, 22)]
    shown = named("size", BYTES, sizes)
    assert find_ticks(shown, sizes[:8], swept=True) == sizes[:8]
    assert find_ticks(shown, sizes, swept=True) == sizes[::2]
    assert find_ticks(shown, [3.0, 1.0, 3.0], swept=True) == [1.0, 3.0]
    rounded = [4.0, 6.0, 8.0, 11.0, 16.0, 23.0, 32.0, 45.0, 64.0, 91.0, 128.0]
    assert find_ticks(named("n", PLAIN, rounded), rounded, swept=True) == rounded[::2]
    assert set(find_ticks(named("n", PLAIN, range(30)), range(30), swept=True)) <= set(range(30))


@pytest.mark.parametrize(
    "values", [[1e-3, 1e9], [497.0, 503.0], [2.1, 30.0], [0.0, 0.7, 1.0], [-5.0, 40.0], [1e6, 1e6 + 1]]
)
def test_round_ticks_are_few_and_their_texts_differ(values: list[float]) -> None:
    shown = quantity("latency_ns", values)
    ticks = find_ticks(shown, values, swept=False)
    assert 3 <= len([tick for tick in ticks if values[0] <= tick <= values[-1]]) <= MOST_TICKS
    texts = tick_texts(shown, ticks)
    assert len(set(texts)) == len(ticks)
    assert not any("e" in text for text in texts)


def test_one_value_has_one_tick() -> None:
    assert find_ticks(quantity("latency_ns", [500.0]), [500.0], swept=False) == [500.0]


def test_irregular_values_have_round_ticks() -> None:
    drawn = [1.1, 2.3, 2.4, 3.9, 4.2, 5.5, 6.1, 7.7, 9.9]
    assert find_ticks(named("n", PLAIN, drawn), drawn, swept=True) == [2.0, 4.0, 6.0, 8.0]
