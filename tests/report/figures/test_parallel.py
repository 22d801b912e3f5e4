from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.report.figures.parallel import plot_parallel
from kernbench.sweep.grid.grid import Objective
from tests.report.sample_tables import table

LATENCY = Objective("latency_ns")


@pytest.mark.slow
def test_every_point_is_a_line(tmp_path: Path) -> None:
    given = table(lambda m, n, kind: 1.0 * m / n, M=list(range(1, 20)), N=[1, 2], kind=["a", "b"])
    svg, _ = plot_parallel(given, [LATENCY], tmp_path / "parallel", "t")
    assert plot_parallel(given, [LATENCY], tmp_path / "again", "t")[0].read_bytes() == svg.read_bytes()


def test_one_axis_is_not_drawn(tmp_path: Path) -> None:
    assert plot_parallel(table(lambda m: m, M=[1, 2]), [LATENCY], tmp_path / "parallel", "t") == []
