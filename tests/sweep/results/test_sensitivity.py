from __future__ import annotations

import polars
import pytest

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.sensitivity import find_sensitivities
from tests.report.sample_tables import table

LATENCY = Objective("latency_ns")


def test_a_whole_grid_is_split_into_what_each_axis_does() -> None:
    given = table(
        lambda m, kind, idle: 10.0 * m + (30 if kind == "b" else 0), M=[1, 2, 3], kind=["a", "b"], idle=[7, 8]
    )
    m, kind = sorted(find_sensitivities(given, [LATENCY]), key=lambda one: one.axis.column)
    assert (m.best, m.worst, kind.best, kind.worst) == (1, 3, "a", "b")
    assert m.share + kind.share == pytest.approx(1)


def test_the_axis_that_explains_most_comes_first() -> None:
    found = find_sensitivities(table(lambda n, m: 100.0 * m + n, N=[1, 2], M=[1, 2]), [LATENCY])
    assert [one.axis.column for one in found] == ["M", "N"]


def test_spread_and_slope() -> None:
    (one,) = find_sensitivities(table(lambda gbs: 800 / gbs, gbs=[1, 2, 4]), [LATENCY])
    assert (one.best, one.worst) == (4, 1)
    assert one.spread == pytest.approx(3)
    assert one.slope == pytest.approx(-1)
    assert one.share == pytest.approx(1)


def test_of_a_maximum_the_best_is_the_most() -> None:
    (one,) = find_sensitivities(table(lambda m: 10.0 * m, M=[1, 2]), [Objective("achieved_tflops", least=False)])
    assert (one.best, one.worst) == (1, 2)


def test_of_a_selection_only_what_was_simulated_is_averaged() -> None:
    """Averages of bounds, or of what was simulated, would have called b the best."""
    given = table(lambda m, kind: 10.0 * m + (5 if kind == "b" else 0), M=[1, 2, 3, 4], kind=["a", "b"])
    modes = ["hybrid", "hybrid", "hybrid", "analytic", "analytic", "analytic", "hybrid", "analytic"]
    found = find_sensitivities(given.with_columns(fidelity=polars.Series(modes)), [LATENCY])
    kind = next(one for one in found if one.axis.column == "kind")
    assert (kind.best, kind.worst, kind.points, kind.of, kind.selected) == ("a", None, 4, 8, True)
    assert kind.spread == pytest.approx((10 + 20 + 40) / 3 / 15 - 1)


def test_many_drawn_values_are_taken_together() -> None:
    (one,) = find_sensitivities(table(lambda m: 10.0 * m, M=list(range(1, 101))), [LATENCY])
    assert (one.best, one.worst) == ("1 … 13.38", "87.62 … 100")


def test_what_moves_nothing_is_left_out() -> None:
    assert find_sensitivities(table(lambda m: 5.0, M=[1, 2]), [LATENCY]) == []


def test_values_that_are_each_in_one_point_explain_no_more_than_their_bins() -> None:
    drawn = table(lambda m, kind: 10.0 * m + (50 if kind == "b" else 0), M=list(range(1, 13)), kind=["a", "b"])
    once = drawn.filter((drawn["M"] % 2 == 0) == (drawn["kind"] == "a"))
    shares = {one.axis.column: one.share for one in find_sensitivities(once, [LATENCY])}
    assert 0.4 < shares["M"] < 0.95
