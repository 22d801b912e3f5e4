from __future__ import annotations

from pathlib import Path

import polars
import pytest

from kernbench.report.figures.pareto import plot_pareto
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.swept_axes import find_cost
from tests.report.sample_tables import table

BANDWIDTH = "topology__hbm__channel_gbs"
LATENCY, COST = Objective("latency_ns"), Objective("topology.hbm.channel_gbs")


def test_a_cost_is_one_paid_for_figure_beside_a_choice() -> None:
    both = {BANDWIDTH: [8, 16], "variant": ["a", "b"]}
    cost = find_cost(table(lambda *_: 1.0, **both))
    assert cost is not None
    assert cost.column == "topology.hbm.channel_gbs"
    assert find_cost(table(lambda *_: 1.0, **{BANDWIDTH: [8, 16]})) is None
    assert find_cost(table(lambda *_: 1.0, **both, M=[1, 2])) is None
    assert find_cost(table(lambda *_: 1.0, **both, topology__ucie__gbs=[1, 2])) is None


@pytest.mark.slow
def test_a_plot_is_drawn_where_there_are_two_objectives(tmp_path: Path) -> None:
    given = table(lambda gbs, variant: len(variant) * 900 / gbs, **{BANDWIDTH: [8, 16]}, variant=["a", "bb"])
    drawn = plot_pareto(given, [LATENCY, COST], tmp_path / "pareto", "t")
    assert drawn == [tmp_path / "pareto.svg", tmp_path / "pareto.png"]
    assert plot_pareto(given, [LATENCY], tmp_path / "pareto", "t") == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_front_goes_through_results_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch()
    )
    given = table(lambda gbs, variant: len(variant) * 900 / gbs, **{BANDWIDTH: [8, 16]}, variant=["a", "bb"])
    given = given.with_columns(fidelity=polars.Series(["hybrid", "analytic", "analytic", "hybrid"]))
    plot_pareto(given, [LATENCY, COST], tmp_path / "pareto", "t")
    (axes,) = kept[0].axes
    hollow = [line for line in axes.lines if line.get_markerfacecolor() == "white"]
    assert sorted(y for line in hollow for y in line.get_ydata()) == [56.25, 225.0]
    (front,) = [line for line in axes.lines if line.get_label() == "Pareto front"]
    assert list(front.get_ydata()) == [112.5]
    (legend,) = kept[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["a", "bb", "Pareto front", "lower bound"]


@pytest.mark.slow
def test_very_many_points_are_an_image(tmp_path: Path) -> None:
    given = table(lambda m, n: 1000.0 / m + n, M=list(range(1, 60)), N=list(range(60)))
    objectives = [LATENCY, Objective("M")]
    svg, _ = plot_pareto(given, objectives, tmp_path / "pareto", "t")
    assert "<image" in svg.read_text(encoding="utf-8")
    assert len(svg.read_bytes()) < 400_000
    assert plot_pareto(given, objectives, tmp_path / "again", "t")[0].read_bytes() == svg.read_bytes()
