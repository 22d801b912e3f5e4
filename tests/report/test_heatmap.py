from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.report.heatmap import plot_heat
from kernbench.sweep.grid.grid import Objective
from tests.report.tables import table

LATENCY = Objective("latency_ns")


@pytest.mark.slow
def test_a_map_of_the_two_axes_that_matter_most(tmp_path: Path) -> None:
    given = table(lambda a, m, n: a + 100.0 * m + 10 * len(n), A=[1, 2], M=[1, 2, 3], N=["x", "yy"])
    svg, _ = plot_heat(given, LATENCY, tmp_path / "heat", "t")
    first = svg.read_bytes()
    assert plot_heat(given, LATENCY, tmp_path / "heat", "t")[0].read_bytes() == first


def test_no_map_of_one_axis(tmp_path: Path) -> None:
    assert plot_heat(table(lambda m: m, M=[1, 2]), LATENCY, tmp_path / "heat", "t") == []


@pytest.mark.slow
def test_cells_that_have_no_point_stay_empty(tmp_path: Path) -> None:
    given = table(lambda m, n: None if m * n == 4 else 1.0 * m * n, M=[1, 2], N=[1, 2])
    assert len(plot_heat(given, LATENCY, tmp_path / "heat", "t")) == 2
