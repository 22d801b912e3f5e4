from __future__ import annotations

from pathlib import Path
from typing import Any

import polars

from kernbench.sweep.live_table import LEAST_S, WRITING_SHARE, LiveTable
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.point import Point
from kernbench.sweep.run import run_sweep
from tests.sweep import fakes


class Clock:
    """A clock that goes on by `step` at each look."""

    def __init__(self) -> None:
        self.now, self.step = 0.0, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_the_table_so_far_is_there_while_the_sweep_runs_and_goes_with_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("kernbench.sweep.live_table.LEAST_S", 0.0)
    monkeypatch.setattr("kernbench.sweep.live_table.WRITING_SHARE", float("inf"))
    out, seen = tmp_path / "out", []

    def run(point: Point) -> object:
        if (out / "progress.parquet").exists():
            seen.append(polars.read_parquet(out / "progress.parquet"))
        return fakes.run_fake(point)

    result = run_sweep(fakes.toy_grid(tmp_path, M=[3, 1, 2, 5]), out, 1, run=run)
    assert len(seen) == 3
    for table in seen:  # the store may keep rows back for a moment
        assert len(table) > 0
        assert table.equals(result.table[: len(table)])
    assert not (out / "progress.parquet").exists()


def test_writing_takes_a_small_share_of_the_time(tmp_path: Path) -> None:
    plan = plan_sweep(fakes.toy_grid(tmp_path, M=[1]), tmp_path / "out")
    run_sweep(fakes.toy_grid(tmp_path, M=[1]), tmp_path / "out", 1, run=fakes.run_fake)
    clock = Clock()
    live = LiveTable(plan, clock)
    live.on_row()
    assert not live.path.exists()  # it is too early
    clock.now, clock.step = LEAST_S, 2.0
    live.on_row()  # takes two seconds
    clock.step = 0.0
    written = live.path.stat().st_mtime_ns
    for passed, again in ((2.0 / WRITING_SHARE - 0.1, False), (0.2, True)):
        clock.now += passed
        live.on_row()
        assert (live.path.stat().st_mtime_ns != written) is again


def test_what_a_killed_sweep_left_goes_with_the_next_run_of_its_directory(tmp_path: Path) -> None:
    """Also where no point is missing any more."""
    grid, out = fakes.toy_grid(tmp_path, M=[1, 2]), tmp_path / "out"
    whole = run_sweep(grid, out, 1, run=fakes.run_fake).table
    whole[:1].write_parquet(out / "progress.parquet")
    again = run_sweep(grid, out, 1, run=fakes.run_fake)
    assert not (out / "progress.parquet").exists()
    assert again.table.equals(whole)
