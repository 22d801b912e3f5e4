"""Run a sweep: run what is missing, keep every row, build the table.

A sweep may be stopped at any moment, in any way, and run again. A point counts as done, and its row is shown, when the
row is on the disk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernbench.engine.jit_status import running_s
from kernbench.errors import RunError
from kernbench.modes import Mode
from kernbench.sweep.at_work import at_work
from kernbench.sweep.auto import AutoRows, run_auto
from kernbench.sweep.energy_objectives import check_rows
from kernbench.sweep.execution.executor import LOCAL, ExecutorConfig, OnPoint, execute
from kernbench.sweep.execution.point_progress import OnProgress
from kernbench.sweep.execution.worker import RunPoint, run_point
from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.live_table import LiveTable
from kernbench.sweep.optimise_loop import run_search
from kernbench.sweep.plan import Plan, find_missing, plan_sweep, write_manifest
from kernbench.sweep.point import Point
from kernbench.sweep.result import FinishedSweep
from kernbench.sweep.results.error_bars import FILE, SCHEMA, combine_effects, list_effects, list_ends
from kernbench.sweep.results.file_names import TABLE
from kernbench.sweep.results.store import Store, write_frames
from kernbench.sweep.results.stored_rows import StoredRows
from kernbench.sweep.results.table import list_frames, write_table
from kernbench.sweep.row import OK, Row

GridLike = str | Path | Mapping[str, Any]


def run_plan(
    plan: Plan,
    workers: int | None = None,
    on_point: OnPoint | None = None,
    run: RunPoint = run_point,
    *,
    fail_fast: bool = False,
    scheduler: str = LOCAL,
    on_progress: OnProgress | None = None,
) -> FinishedSweep:
    """Run the missing points of a plan, or for a search all that it asks for, and write `table.parquet`.

    `workers` is a number of processes (default: one a core, no more than points); with 1 all runs in this process. They
    are of this computer, or with `scheduler` "processes" or "tcp://host:port" those of a Dask cluster.
    `on_point(point, row)` hears of every point once it is on the disk, in no fixed order; `on_progress` of points that run
    long, but for those on a cluster. On Ctrl-C (KeyboardInterrupt) what has finished is kept and tabled. Another sweep that is
    at work in the directory is warned of. Errors: InputError if `out` cannot be written or the workers are fewer than 1; with
    `fail_fast`, RunError at the first point that fails, once its row is kept.
    """
    config = ExecutorConfig(workers, scheduler, run, on_progress)
    on_row: OnPoint = on_point or (lambda _point, _row: None)
    if fail_fast:
        on_row = _stopping(plan.grid, on_row)
    with at_work(plan.directory):
        if plan.grid.method == "optimise":
            return run_search(plan, lambda part: _run_missing(part, config, on_row))
        return _run_missing(plan, config, on_row)


def _run_missing(plan: Plan, config: ExecutorConfig, on_point: OnPoint) -> FinishedSweep:
    started = running_s()
    store = Store(plan.directory, plan.inputs.stamp)
    write_manifest(plan)
    live = LiveTable(plan)

    def on_row(point: Point, row: Row) -> None:
        on_point(point, row)
        live.on_row()

    refined, decided = None, None
    try:
        if plan.grid.mode == Mode.AUTO:
            refined, decided = run_auto(plan, store, config, on_row)
        else:
            execute(plan.missing, store, config, on_row)
    finally:
        store.compact()
        rows = AutoRows(store, plan.points, refined) if refined else StoredRows(store, plan.points)
        write_table(plan.grid, plan.points, rows, plan.directory / TABLE)
        live.close()
    check_rows(plan.grid, plan.points, plan.directory / TABLE)
    if plan.grid.error_bars:
        _add_error_bars(plan, store, config)
    count = int(rows.found.sum())
    if count < len(plan.points):
        raise RunError(
            f"{len(plan.points) - count} of {len(plan.points)} points have no row in {plan.directory}: their files were "
            "removed or damaged during the sweep; run the same command again"
        )
    return FinishedSweep(plan, plan.directory / TABLE, count, rows.failed, running_s() - started, decided)


def _add_error_bars(plan: Plan, store: Store, config: ExecutorConfig) -> None:
    """Run the points at the ends of uncertain figures, write what they tell and put error bars into the table."""
    import polars

    ends = list_ends(plan.grid, plan.inputs, plan.points)
    try:
        missing = find_missing(ends.points, plan.directory, retry=plan.retry)
        execute(missing, store, replace(config, on_progress=None), lambda _point, _row: None)
    finally:
        store.compact()
    rows = StoredRows(store, plan.points)
    found = list(list_effects(plan.points, rows, ends, StoredRows(store, ends.points)))
    effects = polars.concat(found) if found else polars.DataFrame(schema=SCHEMA)
    write_frames(plan.directory / FILE, iter([effects]))
    bars = combine_effects(effects)
    frames = list_frames(plan.grid, plan.points, rows)
    with_bars = (frame.join(bars, on="key", how="left", maintain_order="left") for frame in frames)
    write_frames(plan.directory / TABLE, with_bars)


def run_sweep(
    grid: GridLike,
    out: Path | str | None = None,
    workers: int | None = None,
    on_point: OnPoint | None = None,
    *,
    retry: bool = False,
    fail_fast: bool = False,
    scheduler: str = LOCAL,
    time_limit: float | str | None = None,
    op_limit: int | None = None,
    run: RunPoint = run_point,
) -> FinishedSweep:
    """Plan a sweep and run what is missing; see `plan_sweep` and `run_plan`."""
    plan = plan_sweep(grid, out, retry=retry, time_limit=time_limit, op_limit=op_limit)
    return run_plan(plan, workers, on_point, run, fail_fast=fail_fast, scheduler=scheduler)


def _stopping(grid: Grid, on_point: OnPoint) -> OnPoint:
    def on_row(point: Point, row: Row) -> None:
        on_point(point, row)
        if row["status"] != OK:
            where = " ".join(f"{axis.name}={point.columns.get(axis.name)}" for axis in grid.axes)
            raise RunError(f"stopped at the first point that failed, {where}: {row['error']}")

    return on_row
