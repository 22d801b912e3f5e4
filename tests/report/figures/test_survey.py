"""The plot of a probe."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.machine import load_machine
from kernbench.report.figures.survey import plot_survey
from kernbench.traffic.probe_suite import run_survey


@pytest.mark.slow
@pytest.mark.parametrize("topology", ["tiny", "mesh_8x8"])
def test_the_same_bytes_each_time(tmp_path: Path, topology: str) -> None:
    survey = run_survey(load_machine(topology))
    paths = plot_survey(survey, tmp_path / "a")
    assert [path.name for path in paths] == ["a.svg", "a.png"]
    again = plot_survey(survey, tmp_path / "b")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
