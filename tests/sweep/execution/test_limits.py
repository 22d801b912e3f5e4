"""Limits of the points of a sweep: those that exceed them are rows with the reason, and the others run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench import InputError
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.run import run_sweep

BENCH = """
from time import sleep

from kernbench import bench

@bench("endless", "Loops for ever in one of its modes")
def endless(torch, what="nothing"):
    def kernel(p, tl):
        tl.load(p, (8, 8))
        while what == "operations":
            tl.cycles(1)
        while what == "nothing at all": sleep(0.001)
    torch.launch("kernel", kernel, torch.zeros((8, 8)))
"""


def grid(directory: Path, **more: Any) -> dict[str, Any]:
    path = directory / "endless.py"
    path.write_text(BENCH, encoding="utf-8")
    parameters = {"what": ["nothing at all", "operations", "nothing"]}
    return {"name": "endless", "bench": str(path), "topology": "tiny", "parameters": parameters, **more}


@pytest.mark.slow
@pytest.mark.parametrize("scheduler", ["local", "processes"])
def test_points_that_exceed_their_limits_are_rows_and_the_others_run(tmp_path: Path, scheduler: str) -> None:
    if scheduler == "processes":
        pytest.importorskip("distributed")
    limited = grid(tmp_path, time_limit="8 s", op_limit=5000)
    table = run_sweep(limited, tmp_path / "out", 1, scheduler=scheduler).table
    assert table["status"].to_list() == ["error", "error", "ok"]
    endless, many, _ = table["error"].to_list()
    assert "endless.py:12: it takes longer than its time limit of 8 s; " in endless
    assert "endless.py:11: the kernels of this run issue more than 5,000 operations" in many


def test_limits_are_no_part_of_a_key_and_those_of_the_command_win(tmp_path: Path) -> None:
    plain = plan_sweep(grid(tmp_path), tmp_path / "out").points
    limited = plan_sweep(grid(tmp_path, time_limit="5 min", op_limit=7), tmp_path / "out", op_limit=8).points
    assert limited.keys.tolist() == plain.keys.tolist()
    assert (limited[0].limits.time_s, limited[0].limits.ops) == (300.0, 8)
    assert (plain[0].limits.time_s, plain[0].limits.ops) == (None, None)


@pytest.mark.parametrize("field", ["time_limit", "op_limit"])
def test_a_limit_that_is_none_is_refused(tmp_path: Path, field: str) -> None:
    with pytest.raises(InputError, match=rf"{field}: {field.replace('_', ' ')}: got '0'|{field}: .*got 0"):
        plan_sweep(grid(tmp_path, **{field: 0}), tmp_path / "out")
