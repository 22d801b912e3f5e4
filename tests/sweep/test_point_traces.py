"""Traces of chosen points of a sweep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernbench.cli.main import main
from tests.trace.decoded import decode

pytestmark = pytest.mark.slow
GRID = {"bench": "gemm-single-pe", "topology": "tiny", "parameters": {"M": [32, 64], "K": 32, "N": 32}}


def run(folder: Path, grid: dict[str, Any], *arguments: str) -> int:
    (folder / "grid.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")
    return main(["sweep", str(folder / "grid.yaml"), "--out", str(folder / "out"), "--workers", "1", *arguments])


def test_a_chosen_point_leaves_its_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, {**GRID, "mode": "analytic"}, "--trace-point", "2", "--json") == 0
    file = tmp_path / "out/traces/point-2.pftrace"
    assert json.loads(capsys.readouterr().out)["files"]["trace of point 2"] == str(file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    (gemm,) = (one for one in decode(file).slices if one.category == "gemm")
    assert json.loads(gemm.arguments["params"])["out"]["shape"] == [64, 32]


@pytest.mark.parametrize(
    ("grid", "number", "sentence"),
    [
        (GRID, "3", "--trace-point 3: the points of this grid are 1 to 2"),
        (
            {"pattern": "uniform", "topology": "mesh_8x8", "parameters": {"load": [0.1, 0.2]}},
            "1",
            "--trace-point traces runs of a bench, and this grid sends the traffic of a pattern",
        ),
    ],
)
def test_points_that_cannot_be_traced(
    tmp_path: Path, grid: dict[str, Any], number: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, grid, "--trace-point", number) == 2
    assert sentence in capsys.readouterr().err.replace("\n", " ")
    assert not (tmp_path / "out").exists()
