"""The roofline of a network."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import kernbench
from kernbench.cli.main import main
from kernbench.report.figures.network_roofline import draw_run, place_operators
from tests.workloads.configs import decoder

SMALL = decoder("llama", "64/4/4/2/16/128/256")


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "small" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(SMALL))
    return str(path)


def test_points_lie_below_the_roof_and_shares_are_those_of_the_table(config: str) -> None:
    told = kernbench.run(config, "tiny", parameters={"batch": 2, "context": 9}).network
    assert told is not None
    placed = place_operators(told)
    assert [one.name for one in placed] == ["q, k, v", "attention", "o", "gate, up", "down", "lm_head"]
    for one in placed:
        row = next(row for row in told["operators"] if row["operator"] == one.name)
        roof = min(told["peak_tflops"], one.intensity * told["peak_gbs"] / 1e3)
        assert one.tflops / roof == pytest.approx(row["share_of_peak"])
        assert one.share == pytest.approx(row["times"] * row["ns"] / told["step_ns"])


def test_layers_of_two_kinds_have_points_of_their_own(config: str) -> None:
    path = Path(config)
    path.write_text(
        json.dumps(
            {
                **SMALL,
                "model_type": "mistral",
                "sliding_window": 4,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
            }
        )
    )
    told = kernbench.run(config, "tiny", parameters={"batch": 2, "context": 9}).network
    assert told is not None
    names = [one.name for one in place_operators(told)]
    assert len(names) == len(set(names))


def test_out_leaves_the_same_picture_each_time(config: str, tmp_path: Path) -> None:
    given = ["run", config, "-t", "tiny", "--set", "batch=2", "--set", "context=9"]
    drawn = []
    for name in "ab":
        assert main([*given, "--out", str(tmp_path / name)]) == 0
        drawn.append((tmp_path / name / "roofline.svg").read_text(encoding="utf-8"))
    assert drawn[0] == drawn[1]
    assert drawn[0].startswith("<?xml")


def test_a_run_without_flops_has_no_picture(config: str) -> None:
    result = kernbench.run(config, "tiny", parameters={"batch": 2, "context": 9})
    assert result.network is not None
    for row in result.network["operators"]:
        row["flops"] = 0
    assert draw_run(result) == {}
