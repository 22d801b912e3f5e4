"""Grids of `kernbench sweep` over benches of task graphs: what is read of them, what is refused, and their rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernbench.errors import InputError
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.run import run_sweep

GRID: dict[str, Any] = {
    "name": "mine",
    "bench": "paged_attention",
    "topology": "ascend_tiny",
    "parameters": {"case": "CaseBatch256", "batch": [16, 32], "topology.pto_runtime.task_window": [8, 16]},
}


def refusal(**changes: Any) -> str:
    with pytest.raises(InputError) as caught:
        plan_sweep({**GRID, **changes})
    return str(caught.value)


def test_a_point_has_the_parameters_of_its_case(tmp_path: Path) -> None:
    first = plan_sweep(GRID, tmp_path).points[0]
    assert first.parameters["batch"] == 16
    assert first.parameters["head_dim"] == 256, "that of CaseBatch256, not of the default case"
    assert first.parameters["runtime"] == "tensormap_and_ringbuffer"
    both = plan_sweep({**GRID, "parameters": {"case": ["Case1", "CaseBatch256"]}}, tmp_path).points
    assert {point.parameters["head_dim"] for point in both} == {""}, "each case has its own"


def test_what_no_bench_of_task_graphs_takes_is_refused() -> None:
    assert refusal(topology="tiny", parameters={}) == (
        "grid: task graphs run on family 'ascend', and topology 'tiny' is of family 'sip'; give one such as ascend_910b2"
    )
    assert refusal(mode="analytic").startswith("grid: mode analytic bounds benches of family 'sip'")
    assert refusal(parameters={"batches": 1}).startswith(
        "grid: bench 'paged-attention' has no parameter 'batches'; did you mean 'batch'"
    )
    assert "has no case 'Case7'" in refusal(parameters={"case": "Case7"})
    assert "unknown runtime 'rings'" in refusal(parameters={"runtime": "rings"})
    assert "parameter 'batch' of bench 'paged-attention' is int" in refusal(parameters={"batch": "many"})


def test_a_row_has_times_and_what_is_busiest_and_a_fatal_end_is_an_error(tmp_path: Path) -> None:
    result = run_sweep({**GRID, "baseline": {"batch": 16, "topology.pto_runtime.task_window": 16}}, tmp_path, 1)
    rows = result.table.sort("batch", "topology.pto_runtime.task_window").rows(named=True)
    assert [row["status"] for row in rows] == ["error", "ok", "error", "ok"]
    assert "Flow Control Deadlock Detected" in rows[0]["error"]
    assert rows[0]["error"].endswith("(fatal code 1)")
    assert rows[3]["pe_exec_ns"] > rows[1]["pe_exec_ns"] > 0
    assert rows[3]["latency_ns"] > rows[3]["pe_exec_ns"]
    assert rows[3]["bottleneck"] == "scheduler"
    assert 0.5 < rows[3]["bottleneck_utilisation"] <= 1


def test_a_bench_may_be_a_file(tmp_path: Path) -> None:
    source = Path("benches/pto/vector_example.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(source.replace("__outputs__", "__outs__"), encoding="utf-8")
    grid = {
        "name": "own",
        "bench": str(tmp_path / "mine.py"),
        "topology": "ascend_tiny",
        "parameters": {"rows": [4, 8]},
    }
    points = plan_sweep(grid, tmp_path / "out").points
    assert [point.front_end for point in points] == ["task-graph"] * 2
