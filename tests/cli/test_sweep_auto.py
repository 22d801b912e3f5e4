"""`kernbench sweep` in mode auto, with real bounds and runs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from kernbench.cli.main import main

GRID = {
    "bench": "gemm-single-pe",
    "topology": "tiny",
    "parameters": {"M": [32, 64], "K": 32, "N": 32, "topology.hbm.channel_gbs": [16, 32]},
    "objectives": ["min latency_ns", "min topology.hbm.channel_gbs"],
}


@pytest.mark.slow
def test_points_that_are_all_bounded_already_still_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = list[str]()

    def sweep(mode: str) -> list[str]:
        grid = tmp_path / "grid.yaml"
        grid.write_text(yaml.safe_dump({**GRID, "mode": mode}), encoding="utf-8")
        assert main(["sweep", str(grid), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
        lines = [line.split("  ") for line in capsys.readouterr().err.splitlines() if "  M=" in line]
        shown[:] = [line[-1] for line in lines]
        return [line[0] for line in lines]

    assert sweep("analytic") == ["1/4", "2/4", "3/4", "4/4"]
    assert all(figure.startswith("≥ ") for figure in shown)
    said = sweep("auto")
    assert len(said) >= 2
    assert said == [f"{run} with events" for run in range(1, len(said) + 1)]
    assert not any("≥" in figure for figure in shown)
