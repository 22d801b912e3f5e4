"""A Dask cluster of which a worker is held, and one whose sweep is killed.

Workers and schedulers that die are tried in `tests/sweep/execution/test_dask_cluster.py`.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from kernbench.sweep.run import run_sweep
from tests.faults.sweeps import check_resumed, make_grid, read_table, start_sweep
from tests.sweep.execution.test_dask_cluster import scheduler


def test_a_worker_that_is_held_loses_its_points_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "5s"
    )  # Dask waits five minutes for one that says nothing
    grid = make_grid(tmp_path)
    run_sweep(grid, tmp_path / "undisturbed", 1)
    whole, heard = read_table(tmp_path / "undisturbed"), []
    with scheduler(tmp_path, 2) as (address, processes):

        def hear(point: object, row: object) -> None:
            heard.append(point)
            if len(heard) == 3:
                os.kill(processes[1].pid, signal.SIGSTOP)

        run_sweep(grid, tmp_path / "out", 2, hear, scheduler=address)
    assert len(heard) == len(whole)
    check_resumed(grid, tmp_path / "out", whole, len(whole))


def test_no_process_of_a_cluster_outlives_its_sweep(tmp_path: Path) -> None:
    grid = make_grid(tmp_path)
    run_sweep(grid, tmp_path / "undisturbed", 1)
    with start_sweep(grid, tmp_path / "out", scheduler="processes") as family:
        for _ in range(4):
            family.read_line()
        family.process.kill()
        family.check_gone()
    check_resumed(grid, tmp_path / "out", read_table(tmp_path / "undisturbed"), 3)
