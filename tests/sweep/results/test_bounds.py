from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars
import pytest

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import (
    answerable,
    at_best,
    best_of_each,
    count_bounded,
    count_possibly_better,
    find_senses,
    is_bounded,
    possible,
)
from kernbench.sweep.row import COLUMNS, ok_row
from tests.sweep import fakes
from tests.sweep.results.test_table import build_table, planned

LATENCY, RATE = Objective("latency_ns"), Objective("achieved_tflops", least=False)
BOUNDS = "AAHH"  # of four points: bounded, bounded, simulated, simulated


def table(latency: Sequence[float | None], modes: str = BOUNDS, **columns: list[Any]) -> polars.DataFrame:
    """Points by the first letter of their modes; E failed."""
    words = {"A": "analytic", "H": "hybrid", "E": None}
    return polars.DataFrame(
        {
            "M": list(range(len(modes))),
            "latency_ns": latency,
            "achieved_tflops": [None if value is None else 1000 / value for value in latency],
            "fidelity": [words[mode] for mode in modes],
            "status": ["error" if mode == "E" else "ok" for mode in modes],
            "key": [str(place) for place in range(len(modes))],
            **columns,
        }
    )


def test_results_are_what_was_simulated() -> None:
    given = table([1.0, 2.0, 3.0, None], "AAHE")
    assert answerable(given)["M"].to_list() == [2]
    assert possible(given)["M"].to_list() == [0, 1, 2]
    assert count_bounded(given) == 2


def test_bounds_are_results_where_there_is_nothing_else() -> None:
    for modes in ("AA", "AAE"):
        given = table([1.0, 2.0, None][: len(modes)], modes)
        assert answerable(given)["M"].to_list() == [0, 1]
        assert count_bounded(given) == 0


def test_bounds_that_leave_a_condition_open_are_possible_and_no_results() -> None:
    given = table([1.0, 2.0, 3.0, 4.0], feasible=[None, False, False, False])
    assert answerable(given).is_empty()  # though all that is possible is a bound
    assert possible(given)["M"].to_list() == [0]
    assert answerable(table([1.0, 2.0], "AA", feasible=[None, False]))["M"].to_list() == [0]


def test_times_are_bounded_from_below_and_rates_from_above() -> None:
    given = table([1.0, 2.0, 3.0, 4.0], cost=[1.0] * 4, edp=[1.0] * 4, edp_bound=["lower", None, None, None])
    assert find_senses(given, "latency_ns") == ["lower", "lower", None, None]
    assert find_senses(given, "achieved_tflops_vs_baseline") == ["upper", "upper", None, None]
    assert find_senses(given, "cost") == [None] * 4
    assert find_senses(given, "edp") == ["lower", None, None, None]


def test_a_bound_counts_at_its_best() -> None:
    given = table([1.0, 2.0, 3.0, 4.0])
    assert at_best(given, LATENCY).tolist() == [1, 2, 3, 4]
    assert at_best(given, Objective("latency_ns", least=False)).tolist() == [np.inf, np.inf, 3, 4]
    assert at_best(given, Objective("achieved_tflops")).tolist() == [-np.inf, -np.inf, 1000 / 3, 250]


def test_what_may_be_better_is_counted() -> None:
    given = table([1.0, 3.0, 3.0, 4.0])
    assert count_possibly_better(given, LATENCY, 3.0) == 1
    assert count_possibly_better(given, RATE, 1000 / 3) == 1
    assert count_possibly_better(given, LATENCY, 4.0) == 2
    assert count_possibly_better(table([1.0, 2.0], "AA"), LATENCY, 2.0) == 0


@pytest.mark.parametrize(("latency", "best"), [([3.0, 9.0, 3.0, 8.0], [2, 3]), ([2.0, 9.0, 3.0, 9.0], [0, 3])])
def test_a_bound_wins_only_where_it_might_be_better(latency: list[float], best: list[int]) -> None:
    given = table(latency, kind=["a", "b", "a", "b"])
    assert best_of_each(given, ["kind"], LATENCY)["M"].to_list() == best


def bounded_table(grid: dict[str, Any], latency: float, upper: float, modes: tuple[str, ...]) -> polars.DataFrame:
    """The table of points with M = 1, 2, …, in the modes given."""
    checked, points = planned(parameters={"M": list(range(1, len(modes) + 1))}, **grid)
    rows = []
    for key, mode in zip(points.keys, modes, strict=True):
        made = {**ok_row(fakes.result(latency)), "fidelity": mode, "key": key.decode()}
        rows.append({**made, "lower_ns": latency, "upper_ns": upper})
    return build_table(checked, points, polars.DataFrame(rows, schema=dict(COLUMNS)))


DERIVED = {
    "area": "topology.hbm.channels * M",
    "edp": "latency_ns * area",
    "speed": "M / latency_ns",
    "mixed": "latency_ns - pe_exec_ns",
    "fast": "latency_ns < 50",
    "short": "latency_ns < 500",
}


def test_formulas_of_bounds_are_bounds_or_nothing() -> None:
    found = bounded_table({"derived": DERIVED, "mode": "auto"}, 100.0, 400.0, ("analytic", "hybrid"))
    shown = {
        name: found[name].to_list() for name in (*DERIVED, *(f"{name}_bound" for name in DERIVED)) if name in found
    }
    assert shown == {
        "area": [8.0, 16.0],  # no result in it: no bound
        "edp": [800.0, 1600.0],
        "speed": [0.01, 0.02],
        "mixed": [None, 50.0],
        "fast": [False, False],
        "short": [True, True],
        "edp_bound": ["lower", None],
        "speed_bound": ["upper", None],
        "mixed_bound": [None, None],
        "fast_bound": [None, None],
        "short_bound": [None, None],
    }
    assert "edp_bound" not in bounded_table({"derived": DERIVED}, 100.0, 400.0, ("hybrid",)).columns


@pytest.mark.parametrize(("most", "kept"), [(90, False), (100, None), (399, None), (400, True)])
def test_bounds_say_what_they_know_of_a_condition(most: int, kept: bool | None) -> None:
    grid = {"mode": "auto", "constraints": f"latency_ns <= {most}"}
    found = bounded_table(grid, 100.0, 400.0, ("analytic", "hybrid"))
    assert found["feasible"].to_list() == [kept, most >= 100]


def test_a_bound_is_no_baseline_beside_results() -> None:
    asked = {"objectives": ["min latency_ns"], "baseline": {"M": 1}}
    modes = ("analytic", "hybrid")
    assert (
        bounded_table({**asked, "mode": "auto"}, 100.0, 400.0, modes)["latency_ns_vs_baseline"].to_list() == [None] * 2
    )
    modes = ("hybrid", "analytic")
    assert (
        bounded_table({**asked, "mode": "auto"}, 100.0, 400.0, modes)["latency_ns_vs_baseline"].to_list() == [1.0] * 2
    )
    modes = ("analytic", "analytic")
    found = bounded_table({**asked, "mode": "analytic"}, 100.0, 400.0, modes)
    assert found["latency_ns_vs_baseline"].to_list() == [1.0] * 2


def test_a_table_of_nulls_alone_says_of_no_row_that_it_is_bounded() -> None:
    rows = polars.DataFrame({"fidelity": [None, None]})
    assert rows["fidelity"].dtype == polars.Null
    assert is_bounded(rows).to_list() == [False, False]
