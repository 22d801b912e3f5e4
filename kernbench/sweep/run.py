"""Run a sweep: run what is missing, keep every row, build the table.

A sweep may be stopped at any moment, in any way, and run again. A point counts as done, and its row is shown, when the
row is on the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.engine.warmth import must_compile
from kernbench.errors import InputError
from kernbench.sweep.plan import Plan, plan_sweep, write_manifest
from kernbench.sweep.point import Point
from kernbench.sweep.points import Points
from kernbench.sweep.pool import Outcome, Outcomes, run_here, run_in_workers
from kernbench.sweep.row import OK, Row
from kernbench.sweep.store import Store, write_whole
from kernbench.sweep.table import build_table
from kernbench.sweep.work import RunPoint, run_point

if TYPE_CHECKING:
    import polars

TABLE = "table.parquet"

OnPoint = Callable[[Point, Row], object]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep."""

    plan: Plan
    table: polars.DataFrame  # sweep/table.py
    table_path: Path
    failed: int  # points without a result
    wall_s: float


def run_plan(
    plan: Plan, workers: int | None = None, on_point: OnPoint | None = None, run: RunPoint = run_point
) -> SweepResult:
    """Run the missing points of a plan and write `table.parquet`.

    `workers` is a number of processes (default: one a core, no more than points); with 1 all runs in this process.
    `on_point(point, row)` hears of every point once it is on the disk, in no fixed order. On Ctrl-C (KeyboardInterrupt)
    what has finished is kept and tabled. Errors: InputError if `out` cannot be written or the workers are fewer than 1.
    """
    started = time.perf_counter()
    count = _count_workers(workers, len(plan.missing))
    store = Store(plan.directory, plan.inputs.stamp)
    write_manifest(plan)
    outcomes = _outcomes(plan.missing, run, count)
    try:
        _keep(outcomes, store, on_point or (lambda _point, _row: None))
    finally:
        outcomes.close()
        table = _write_table(plan, store)
    failed = sum(status != OK for status in table["status"])
    return SweepResult(plan, table, plan.directory / TABLE, failed, time.perf_counter() - started)


def run_sweep(
    grid: str | Path | Mapping[str, Any],
    out: Path | str | None = None,
    workers: int | None = None,
    on_point: OnPoint | None = None,
    *,
    retry: bool = False,
    run: RunPoint = run_point,
) -> SweepResult:
    """Plan a sweep and run what is missing; see `plan_sweep` and `run_plan`."""
    return run_plan(plan_sweep(grid, out, retry=retry), workers, on_point, run)


def sweep(
    grid: str | Path | Mapping[str, Any], out: Path | str | None = None, workers: int | None = None
) -> polars.DataFrame:
    """Run a bench at every point of a grid (a file, a name in `sweeps/` or a mapping) and return the table.

    Rows are also kept under `out` (default: results/<name of the grid>), and found there the next time. A point that
    fails is a row with its error. Errors: InputError of all that is wrong with the grid.
    """
    return run_sweep(grid, out, workers).table


def _keep(outcomes: Outcomes, store: Store, on_point: OnPoint) -> None:
    unheard: list[Outcome] = []
    try:
        for outcome in outcomes:
            unheard.append(outcome)
            if store.append(outcome[1]):
                _tell(unheard, on_point)
    finally:
        store.flush()
        _tell(unheard, on_point)


def _tell(unheard: list[Outcome], on_point: OnPoint) -> None:
    while unheard:
        on_point(*unheard.pop(0))


def _outcomes(points: Points, run: RunPoint, workers: int) -> Outcomes:
    here = len(points) if workers == 1 else int(must_compile())  # one process compiles the loops for all
    yield from run_here(points[:here], run)
    yield from run_in_workers(points[here:], run, workers)


def _count_workers(workers: int | None, points: int) -> int:
    if workers is not None and workers < 1:
        raise InputError(f"workers are 1 or more, not {workers}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(workers or cores, points))


def _write_table(plan: Plan, store: Store) -> polars.DataFrame:
    table = build_table(plan.grid, plan.points, store.read())
    write_whole(plan.directory / TABLE, table.write_parquet)
    store.compact()
    return table
