from __future__ import annotations

import numpy as np
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.pareto import pareto_front, undominated

COST, LATENCY = Objective("cost"), Objective("latency_ns")


def points(**columns: list[object]) -> polars.DataFrame:
    count = len(next(iter(columns.values())))
    return polars.DataFrame({"status": ["ok"] * count, **columns})


def test_the_front_holds_what_nothing_beats() -> None:
    table = points(cost=[1, 1, 2, 3, 4, 4], latency_ns=[9.0, 8.0, 8.0, 5.0, 5.0, 2.0])
    assert pareto_front(table, [COST, LATENCY]).select("cost", "latency_ns").rows() == [(1, 8.0), (3, 5.0), (4, 2.0)]
    assert pareto_front(table, [LATENCY]).select("cost", "latency_ns").rows() == [(4, 2.0)]


def test_more_may_be_better_and_equals_stand_together() -> None:
    table = points(cost=[1, 2, 2, 3], rate=[5.0, 7.0, 7.0, 6.0])
    front = pareto_front(table, [Objective("rate", least=False), COST])
    assert front.select("cost", "rate").rows() == [(2, 7.0), (2, 7.0), (1, 5.0)]


def test_points_without_an_answer_are_not_on_the_front() -> None:
    table = polars.DataFrame(
        {
            "status": ["error", "ok", "ok", "ok"],
            "feasible": [True, False, True, True],
            "latency_ns": [None, 1.0, 3.0, None],
        }
    )
    assert pareto_front(table, [LATENCY])["latency_ns"].to_list() == [3.0]
    assert pareto_front(table.filter(polars.col("status") == "none"), [LATENCY]).is_empty()


@pytest.mark.slow
@given(st.integers(1, 3), st.lists(st.integers(0, 4), max_size=90))
def test_the_front_is_what_its_definition_says(width: int, costs: list[int]) -> None:
    array = np.array(costs[: len(costs) // width * width], dtype=float).reshape(-1, width)
    dominated = [any((o <= p).all() and (o < p).any() for o in array) for p in array]
    assert undominated(array).tolist() == [not d for d in dominated]
