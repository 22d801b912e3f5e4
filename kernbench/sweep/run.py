"""Run a sweep: plan what is missing, run it, keep every row, build the table.

A sweep may be stopped at any moment, in any way, and run again: what is on the disk is found by its key and not run
again. A point that failed is found too (it would fail again) unless `retry` asks for it; one whose worker process died
is run again, since the cause was not the point's alone.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.engine.warmth import must_compile
from kernbench.errors import InputError
from kernbench.sweep.expand import expand
from kernbench.sweep.grid import Grid, load_grid
from kernbench.sweep.inputs import Inputs, check_fields, read_inputs
from kernbench.sweep.point import Point
from kernbench.sweep.pool import Outcome, Outcomes, run_here, run_in_workers
from kernbench.sweep.row import ERROR, OK, Row
from kernbench.sweep.store import Store, write_whole
from kernbench.sweep.table import build_table
from kernbench.sweep.work import RunPoint, run_point

if TYPE_CHECKING:
    import polars

TABLE, MANIFEST = "table.parquet", "sweep.json"

OnPoint = Callable[[Point, Row], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a sweep would do: all its points, and those that are not on the disk yet."""

    grid: Grid
    inputs: Inputs
    directory: Path
    points: tuple[Point, ...]
    missing: tuple[Point, ...]
    changed: tuple[str, ...]  # inputs that are not what they were when this directory was last written


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A finished sweep."""

    plan: Plan
    table: polars.DataFrame  # sweep/table.py
    table_path: Path
    failed: int  # points without a result
    wall_s: float


def plan_sweep(grid: str | Path | Mapping[str, Any], out: Path | str | None = None, *, retry: bool = False) -> Plan:
    """Check a grid and find which of its points are missing in `out` (default: results/<name of the grid>).

    With `retry`, points that failed count as missing. Errors: InputError of all that is wrong with the grid.
    """
    checked = load_grid(grid)
    inputs = read_inputs(checked)
    directory = Path("results", checked.name) if out is None else Path(out)
    points = tuple(inputs.points(checked, expand(checked, inputs.bench.parameters)))
    check_fields(checked, points)
    final = {OK} if retry else {OK, ERROR}
    kept = Store(directory).read()
    missing = tuple(point for point in points if point.key not in kept or kept[point.key]["status"] not in final)
    return Plan(checked, inputs, directory, points, missing, _changed(directory, inputs) if missing else ())


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
    store = Store(plan.directory)
    _write_manifest(plan)
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


def _outcomes(points: tuple[Point, ...], run: RunPoint, workers: int) -> Outcomes:
    alone = (
        len(points) if workers == 1 else int(must_compile())
    )  # where loops must be compiled, one process does it for all
    yield from run_here(points[:alone], run)
    if points[alone:]:
        yield from run_in_workers(points[alone:], run, workers)


def _count_workers(workers: int | None, points: int) -> int:
    if workers is not None and workers < 1:
        raise InputError(f"workers are 1 or more, not {workers}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(workers or cores, points))


def _changed(directory: Path, inputs: Inputs) -> tuple[str, ...]:
    """The inputs that differ from those of the last run in this directory."""
    try:
        before = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))["digests"]
    except (OSError, ValueError, KeyError):
        return ()
    return tuple(name for name, digest in inputs.digests.items() if before.get(name, digest) != digest)


def _write_manifest(plan: Plan) -> None:
    manifest = {"schema": 1, "grid": plan.grid.name, "points": len(plan.points), "digests": dict(plan.inputs.digests)}
    text = json.dumps(manifest, indent=2) + "\n"
    write_whole(plan.directory / MANIFEST, lambda path: path.write_text(text, encoding="utf-8"))


def _write_table(plan: Plan, store: Store) -> polars.DataFrame:
    table = build_table(plan.points, store.read(), [axis.name for axis in plan.grid.axes])
    write_whole(plan.directory / TABLE, table.write_parquet)
    store.compact()
    return table
