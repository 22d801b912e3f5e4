from __future__ import annotations

import re
from pathlib import Path

import polars
import pytest

from kernbench.report.figures.heatmap import plot_heat
from kernbench.sweep.grid.grid import Objective
from tests.report.sample_tables import table

LATENCY = Objective("latency_ns")


@pytest.mark.slow
def test_a_map_of_the_two_axes_that_matter_most(tmp_path: Path) -> None:
    given = table(lambda a, m, n: a + 100.0 * m + 10 * len(n), A=[1, 2], M=[1, 2, 3], N=["x", "yy"])
    svg, _ = plot_heat(given, LATENCY, tmp_path / "heat", "t")
    first = svg.read_bytes()
    assert plot_heat(given, LATENCY, tmp_path / "heat", "t")[0].read_bytes() == first


@pytest.mark.slow
def test_cells_whose_best_may_be_a_bound_are_hollow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib.figure

    kept: list[matplotlib.figure.Figure] = []
    monkeypatch.setattr(
        matplotlib.figure.Figure, "savefig", lambda figure, path, **_: kept.append(figure) or path.touch()
    )
    given = table(lambda m, n, k: 100.0 * m + 10 * n + k, M=[1, 2], N=[1, 2], K=[0, 1])
    modes = ["hybrid", "analytic", "analytic", "hybrid", "hybrid", "hybrid", "analytic", "analytic"]
    plot_heat(given.with_columns(fidelity=polars.Series(modes)), LATENCY, tmp_path / "heat", "t")
    axes = kept[0].axes[0]
    assert sorted(text.get_text() for text in axes.texts) == ["110", "210", "≥ 120", "≥ 220"]
    assert len(axes.patches) == 2
    (legend,) = kept[0].legends
    assert [text.get_text() for text in legend.get_texts()] == ["lower bound"]


@pytest.mark.slow
def test_the_remark_names_all_other_axes_also_those_that_do_not_matter(tmp_path: Path) -> None:
    values = range(30)  # too many for cells
    given = table(lambda a, m, n, k: 100.0 * m + 10 * n + k, A=[1, 2], M=[1, 2], N=[1, 2], K=values)
    svg, _ = plot_heat(given, LATENCY, tmp_path / "heat", "t")
    assert re.search(r"best over (K, A|A, K) ", svg.read_text(encoding="utf-8"))


def test_no_map_of_one_axis(tmp_path: Path) -> None:
    assert plot_heat(table(lambda m: m, M=[1, 2]), LATENCY, tmp_path / "heat", "t") == []


@pytest.mark.slow
def test_cells_that_have_no_point_stay_empty(tmp_path: Path) -> None:
    given = table(lambda m, n: None if m * n == 4 else 1.0 * m * n, M=[1, 2], N=[1, 2])
    assert len(plot_heat(given, LATENCY, tmp_path / "heat", "t")) == 2
