"""Errors of simulated times, and the share of pairs that are in order."""

from __future__ import annotations

import pytest

from kernbench.evaluation.measured import find_errors


def test_errors_are_over_the_measured_times() -> None:
    found = find_errors([90, 220, 330], [100, 200, 300])
    assert found.points == 3
    assert found[1:4] == pytest.approx((0.1, 0.1, 0.1))
    assert found.ordered == 1
    assert str(found) == (
        "3 points: mean error 10.0%, median 10.0%, worst 10.0%; the order is right in 100.0% of pairs"
    )


@pytest.mark.parametrize(
    ("simulated", "measured", "ordered"),
    [
        ([1, 3, 2], [1, 2, 3], 2 / 3),
        ([3, 2, 1], [1, 2, 3], 0),
        ([1, 1, 2], [1, 2, 3], 2 / 3),  # equal simulated times have no order
        ([2, 1, 3], [1, 1, 3], 1),  # pairs of equal measured times do not count
        ([1], [1], 1),
    ],
)
def test_pairs_in_order(simulated: list[float], measured: list[float], ordered: float) -> None:
    assert find_errors(simulated, measured).ordered == pytest.approx(ordered)
