"""Grids of task graphs: points, rows, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.cli.main import main
from kernbench.errors import InputError
from kernbench.sweep.task_graphs import list_points, load_task_graph_grid, run_task_graphs

GRID = {
    "bench": "paged_attention",
    "topology": "ascend_tiny",
    "parameters": {
        "case": "CaseBatch256",
        "batch": [16, 32],
        "topology.pto_runtime.task_window": [8, 16],
        "topology.pto_runtime.aicpu_threads": 2,
    },
}


def test_a_row_for_each_point_and_a_code_for_what_the_runtime_stops() -> None:
    grid = load_task_graph_grid(GRID)
    seen: list[tuple[int, int]] = []
    table = run_task_graphs(grid, lambda done, of: seen.append((done, of)))
    assert seen[-1] == (4, 4)
    assert table["batch"].to_list() == [16, 16, 32, 32]
    assert table["fatal_code"].to_list() == [1, None, 1, None]
    assert table["tasks"].to_list() == [None, 13, None, 26]
    assert table["span_us"][3] > table["span_us"][1]


def test_axes_that_are_zipped_go_together() -> None:
    parameters = {"batch": [16, 32], "topology.pto_runtime.task_window": [16, 32], "case": ["CaseBatch256"]}
    points = list_points(
        load_task_graph_grid(GRID | {"parameters": parameters, "zip": [["batch", "topology.pto_runtime.task_window"]]})
    )
    assert [(point["batch"], point["topology.pto_runtime.task_window"]) for point in points] == [(16, 16), (32, 32)]


def test_what_a_grid_of_task_graphs_does_not_take() -> None:
    with pytest.raises(InputError) as error:
        load_task_graph_grid(GRID | {"where": "batch > 16"})
    assert str(error.value) == "grid 'grid': a grid of task graphs has a bench, a topology, parameters and zip alone"
    with pytest.raises(InputError, match="bench 'paged-attention' has no parameter 'batches'; did you mean 'batch'"):
        run_task_graphs(load_task_graph_grid(GRID | {"parameters": {"batches": [1]}}))


def test_the_command_keeps_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "bench: vector_example\ntopology: ascend_tiny\nparameters:\n  case: [Small]\n  rows: [4, 8]\n"
    Path("mine.yaml").write_text(text + "  topology.pto_runtime.aicpu_threads: [2]\n")
    assert main(["pto", "sweep", "./mine.yaml"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("mine, 2 points\n")
    assert "\nshortest span: " in out
    assert Path("results", "pto-mine", "table.parquet").is_file()
    assert main(["pto", "sweep", "windw"]) == 2
    assert "unknown grid of task graphs 'windw'; did you mean 'window'" in capsys.readouterr().err
