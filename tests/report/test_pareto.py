from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.report.pareto import find_cost, pareto_front, plot_pareto
from tests.report.tables import table

BANDWIDTH = "topology__hbm__channel_gbs"


def test_the_front_holds_what_nothing_beats() -> None:
    points = polars.DataFrame({"cost": [1, 1, 2, 3, 4, 4], "latency_ns": [9.0, 8.0, 8.0, 5.0, 5.0, 2.0]})
    assert pareto_front(points, "cost").rows() == [(1, 8.0), (3, 5.0), (4, 2.0)]


def test_a_cost_is_one_paid_for_figure_beside_a_choice() -> None:
    both = {BANDWIDTH: [8, 16], "variant": ["a", "b"]}
    cost = find_cost(table(lambda *_: 1.0, **both))
    assert cost is not None
    assert cost.column == "topology.hbm.channel_gbs"
    assert find_cost(table(lambda *_: 1.0, **{BANDWIDTH: [8, 16]})) is None
    assert find_cost(table(lambda *_: 1.0, **both, M=[1, 2])) is None
    assert find_cost(table(lambda *_: 1.0, **both, topology__ucie__gbs=[1, 2])) is None


@pytest.mark.slow
def test_a_plot_is_drawn_where_there_is_a_cost(tmp_path: Path) -> None:
    given = table(lambda gbs, variant: len(variant) * 900 / gbs, **{BANDWIDTH: [8, 16]}, variant=["a", "bb"])
    assert plot_pareto(given, tmp_path / "pareto", "t") == [tmp_path / "pareto.svg", tmp_path / "pareto.png"]
    assert plot_pareto(table(lambda *_: 1.0, M=[1, 2]), tmp_path / "none", "t") == []
