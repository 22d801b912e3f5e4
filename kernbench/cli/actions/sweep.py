"""What `kernbench sweep` does: it plans the points of a grid, runs what is missing, and says what is best and what matters.

Results (the table, the JSON) go to stdout; progress goes to stderr.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import polars

from kernbench.cli.main import Settings, stopped_code
from kernbench.cli.names.asked import read_asked
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.dry_run import show_plan
from kernbench.cli.output.files import check_directory, show_files
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say, show
from kernbench.cli.output.sweep_progress import show_progress, tell_assignments
from kernbench.errors import InputError, RunError
from kernbench.report.pages.markdown_report import find_free, find_gaps, tell_free
from kernbench.report.pages.sweep_outputs import choose_objectives, find_rows, read_report_columns, write_outputs
from kernbench.report.tables.sweep_tables import RANKED, best_points, front_points, sensitivity_table
from kernbench.report.tables.table_files import write_forms
from kernbench.report.unequal_work import find_unequal_work, tell_unequal_work
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.plan import Plan, plan_sweep
from kernbench.sweep.point_traces import check_points, write_traces
from kernbench.sweep.question import RESULTS
from kernbench.sweep.results.error_bars import read_ranking
from kernbench.sweep.results.file_names import TABLE
from kernbench.sweep.results.pareto import best_point, pareto_front, rank_points
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.sweep.row import OK
from kernbench.sweep.run import FinishedSweep, run_plan
from kernbench.sweep.saved_grid import save_grid
from kernbench.text import plural
from kernbench.user_modules import looking

MOST_SHOWN = 3  # failed points named one by one


def sweep(
    settings: Settings,
    grid: str,
    assignments: tuple[str, ...],
    topology: str | None,
    mode: str | None,
    objectives: tuple[str, ...],
    error_bars: bool,
    save: Path | None,
    out: Path | None,
    forms: tuple[str, ...],
    workers: int | None,
    scheduler: str,
    retry: bool,
    fail_fast: bool,
    time_limit: str | None,
    op_limit: int | None,
    traced: tuple[int, ...],
    dry_run: bool,
    tries: bool,
    as_json: bool,
) -> int:
    """Plan a sweep, run it and show its results; returns the exit code. Errors: RunError if points failed."""
    if out is not None:
        check_directory(out)
    if tries and not dry_run:
        raise InputError("--try goes with --dry-run; without it the points run")
    looks = looking if dry_run and not tries else nullcontext
    with looks():
        requested = read_asked(grid, assignments, topology, mode, objectives, save, error_bars)
    with status_line() as tell, looks():
        tell("planning the points")
        plan = plan_sweep(
            requested.grid, out, retry=retry, time_limit=time_limit, op_limit=op_limit, command=settings.command_line
        )
        check_points(plan, traced)
    if save is not None:
        save_grid(requested, save)
        say(f"wrote {save}", err=True)
    if dry_run:
        with looks():
            show_plan(plan, workers, as_json=as_json)
        return 0
    return _run(plan, workers, scheduler, traced, forms, fail_fast=fail_fast, as_json=as_json)


def _run(
    plan: Plan,
    workers: int | None,
    scheduler: str,
    traced: tuple[int, ...],
    forms: tuple[str, ...],
    *,
    fail_fast: bool,
    as_json: bool,
) -> int:
    """Run a plan and show its results; returns the exit code. Errors: RunError if points failed."""

    _announce(plan)
    try:
        with show_progress(plan) as (on_point, on_progress):
            result = run_plan(
                plan, workers, on_point, fail_fast=fail_fast, scheduler=scheduler, on_progress=on_progress
            )
        traces = _trace(plan, traced)
        with result.scan() as scan:
            _show(result, scan, traces, forms, as_json)
    except KeyboardInterrupt as error:
        say(f"interrupted: finished points are kept in {plan.directory}; the same command goes on", err=True)
        return stopped_code(error)
    except RunError:
        if fail_fast:
            _show_stopped(plan)
        raise
    if result.failed:
        total = plural(result.count, "point")
        raise RunError(f"{result.failed} of {total} failed; the column error of the table says why")
    return 0


def _trace(plan: Plan, numbers: tuple[int, ...]) -> dict[str, Path]:
    """The traces of points, by their names among the files."""
    with redirect_stdout(sys.stderr), status_line() as tell:
        return {f"trace of point {number}": path for number, path in write_traces(plan, numbers, tell).items()}


def _announce(plan: Plan) -> None:
    grid, total, missing = plan.grid, len(plan.points), len(plan.missing)
    searched = plan.most_points - total
    kept = f", {total - missing:,} already in {plan.directory}" if total > missing and not searched else ""
    count = f"{plural(total, 'point')}{kept}"
    if searched:
        count = f"up to {plural(plan.most_points, 'point')}, {grid.batch} at a time"
    say(f"{grid.name}: {grid.workload} on {grid.topology}, {grid.mode} mode: {count}", err=True)
    if grid.asked and plan.directory.parent == RESULTS and plan.directory.name != grid.name:
        say(f"{RESULTS / grid.name} has the table of another question, so this one goes to {plan.directory}", err=True)
    if grid.method in ("random", "sobol", "latin") and total < grid.samples:
        design = plan.points.design
        counts = (
            f"{plural(total, 'different point')} found; of {design.drawn:,} drawn {design.met:,} met the conditions"
        )
        say(f"{plural(grid.samples, 'sample')} asked for, {counts}", err=True)
    if plan.changed:
        changed = " and ".join(plan.changed)
        run = f"{plural(missing, 'point')} {'runs' if missing == 1 else 'run'} anew"
        say(f"{changed} changed since the last run here: {run}", err=True)
    if missing:
        announce_compiling()


def _show(
    result: FinishedSweep, scan: polars.LazyFrame, traces: Mapping[str, Path], forms: Sequence[str], as_json: bool
) -> None:
    plan = result.plan
    with status_line() as tell:
        tell("drawing the results")
        files = {"table": result.table_path, **write_outputs(plan.grid, scan, plan.directory), **traces}
        files |= {name: Path(path) for name, path in write_forms(files, forms).items()}
    table = read_report_columns(plan.grid, scan)
    objectives = choose_objectives(plan.grid, table)
    if as_json:
        best = find_rows(scan, best_point(table, objectives[0], objectives)).to_dicts()
        click.echo(json.dumps(_summary(result, table, objectives, files, best)))
        return
    for row in scan.filter(polars.col("status") != OK).head(MOST_SHOWN).collect().to_dicts():
        say(f"{tell_assignments(plan, row)}: {row['error']}", err=True)
    for gap in find_gaps(plan.grid, table):
        say(gap, err=True)
    _show_results(table, objectives)
    told = [*tell_unequal_work(table, objectives), *tell_free(plan.grid, table, objectives)]
    for sentence in [*told, *_tell_ranking(plan, table, objectives)]:
        say(sentence)
    if result.decided:
        say(f"mode auto, {result.wall_s:.1f} s: {result.decided}")
    else:
        say(f"{plural(len(plan.missing), 'point')} ran in {result.wall_s:.1f} s")
    show_files({name: path for name, path in files.items() if path.suffix != ".png"})  # the PNG lies beside its SVG


def _tell_ranking(plan: Plan, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """Whether what is uncertain of the machine could turn the ranking around, of a sweep with error bars."""
    return read_ranking(plan.grid, table, objectives[0], plan.directory, RANKED)


def _show_stopped(plan: Plan) -> None:
    """Write the reports of a sweep that has ended at a failure, so that they say why."""
    table = plan.directory / TABLE
    if table.is_file():
        files = write_outputs(plan.grid, polars.scan_parquet(table), plan.directory)
        say(f"wrote {files['page']}", err=True)


def _show_results(table: polars.DataFrame, objectives: Sequence[Objective]) -> None:
    if not len(rank_points(table, objectives[0], 1)):
        return
    tables = [best_points(table, objectives)]
    if len(objectives) > 1:
        tables.append(front_points(table, objectives))
    if found := find_sensitivities(table, objectives):
        tables.append(sensitivity_table(found))
    for each in tables:
        show(each)
        say()


def _summary(
    result: FinishedSweep,
    table: polars.DataFrame,
    objectives: Sequence[Objective],
    files: Mapping[str, Path],
    best: list[dict[str, Any]],
) -> dict[str, Any]:
    plan, unequal = result.plan, find_unequal_work(table, objectives)
    return {
        "sweep": plan.grid.name,
        **({"bench": plan.grid.bench} if plan.grid.bench is not None else {"pattern": plan.grid.pattern}),
        "topology": plan.grid.topology,
        "mode": plan.grid.mode,
        "points": len(plan.points),
        "ran": len(plan.missing),
        "failed": result.failed,
        "changed": list(plan.changed),
        "wall_s": result.wall_s,
        **({"decided": asdict(result.decided)} if result.decided else {}),
        "objectives": [str(objective) for objective in objectives],
        "free": find_free(plan.grid, table, objectives),
        "unequal_work": unequal and unequal._asdict(),
        "best": best[0] if best else None,
        **({"ranking": _tell_ranking(plan, table, objectives)} if plan.grid.error_bars else {}),
        "front": pareto_front(table, objectives)["key"].to_list(),
        "sensitivity": [
            {
                "objective": one.objective.column,
                "parameter": one.axis.column,
                "best": one.best,
                "worst": one.worst,
                "spread": one.spread,
                "share": one.share,
                "slope": one.slope,
                "points": one.points,
                "of": one.of,
            }
            for one in find_sensitivities(table, objectives)
        ],
        "files": {name: str(path) for name, path in files.items()},
    }
