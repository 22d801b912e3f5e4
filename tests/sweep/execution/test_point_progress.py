"""What a point reports while it runs reaches the listener of its thread."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kernbench.engine import batch, progress
from kernbench.sweep.execution import shared_structure
from kernbench.sweep.execution.executor import ExecutorConfig, execute
from kernbench.sweep.execution.point_progress import PointProgress, listen, report_run, report_stage
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.results.store import Store


def test_reports_reach_the_listener_of_their_thread() -> None:
    heard: list[PointProgress] = []
    report_stage(1, "to nobody")
    with listen(heard.append):
        report_stage(2, "recording")
        report_run(2, 30, 120, 5)
        report_run(2, 0, 0, 0)
        other = threading.Thread(target=report_stage, args=(3, "in another thread"))
        other.start()
        other.join()
        with listen(None):
            report_stage(4, "to nobody")
    assert heard == [
        PointProgress(2, "recording"),
        PointProgress(2, "simulating", 30, 5, 0.25),
        PointProgress(2, "simulating"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("parameters", [{"M": [32, 64]}, {"M": 64, "topology.noc.gbs": [50.0, 100.0, 200.0]}])
def test_points_tell_how_far_they_are(
    parameters: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that run alone, and those that share a structure."""
    monkeypatch.setattr(progress, "_EVERY_S", 0)
    monkeypatch.setattr(shared_structure._kept, "structures", [])  # those of other tests of this process
    monkeypatch.setattr(batch, "WORK_A_CALL", 50)
    monkeypatch.setattr("kernbench.engine.session.WORK_A_CALL", 50)
    grid = {"name": "g", "bench": "gemm-single-pe", "topology": "tiny", "mode": "flit", "parameters": parameters}
    plan = plan_sweep(grid, tmp_path / "out")
    heard: list[PointProgress] = []
    config = ExecutorConfig(1, on_progress=heard.append)
    execute(plan.points, Store(plan.directory, plan.inputs.stamp), config, lambda _point, _row: None)
    assert "recording the bench" in {found.stage for found in heard}
    for point in range(len(plan.points)):
        shares = [found.share for found in heard if found.point == point and found.served]
        assert len(shares) > 1
        assert shares == sorted(shares)
        assert 0 < shares[0] < shares[-1] <= 1
