from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.sweep import estimate as estimate_module
from kernbench.sweep.estimate import Estimate, Trial, count_programs, estimate
from kernbench.sweep.plan import plan_sweep
from tests.sweep import fakes

FIGURES = {"topology.hbm.channel_gbs": [8, 16, 32], "topology.hbm.channels": [4, 8]}


def test_points_that_differ_in_figures_alone_share_a_program(tmp_path: Path) -> None:
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1, 2], **FIGURES), tmp_path / "out")
    assert (len(plan.points), plan.points.count_machines(), count_programs(plan.points)) == (12, 6, 4)


def test_an_estimate_adds_up() -> None:
    guess = Estimate(points=100, programs=10, workers=2, trial=Trial(3.0, 0.1, 200))
    assert (guess.seconds, guess.peak_bytes) == (pytest.approx(19.5), 400)
    assert Estimate(100, 10, 3, Trial(3.0, 0.1, 200, shared_bytes=80)).peak_bytes == 3 * 120 + 80
    assert Estimate(0, 0, 1, None).seconds is None


@pytest.mark.slow
def test_points_are_tried_and_nothing_is_kept(tmp_path: Path) -> None:
    grid = {"bench": "gemm-single-pe", "topology": "tiny", "parameters": {"M": [32, 64], **FIGURES}}
    guess = estimate(plan_sweep(grid, tmp_path / "out"), workers=1)
    assert guess.trial is not None
    assert 0 < guess.trial.more_s <= guess.trial.first_s
    assert 50e6 < guess.trial.peak_bytes < 2e9
    assert 5e6 < guess.trial.shared_bytes < guess.trial.peak_bytes
    assert not (tmp_path / "out").exists()


def test_points_that_take_too_long_give_no_estimate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_module, "PATIENCE_S", 0.001)
    monkeypatch.setattr(estimate_module, "needs_compile", lambda: False)
    guess = estimate(plan_sweep(fakes.toy_grid(tmp_path, M=[1]), tmp_path / "out"))
    assert (guess.trial, guess.took_too_long) == (None, True)
