"""`kernbench sweep`: one bench, or the traffic of one pattern, at every point of a grid.

Results (the table, the JSON) go to stdout; progress goes to stderr.
"""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli.commands import options
from kernbench.cli.main import Settings, stopped_code
from kernbench.cli.names import completion
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say, show
from kernbench.cli.output.sweep_progress import show_progress, tell_assignments
from kernbench.errors import InputError, RunError
from kernbench.modes import SWEEP_MODES
from kernbench.sweep.row import OK
from kernbench.text import plural
from kernbench.user_modules import looking

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars

    from kernbench.sweep.grid.grid import Objective
    from kernbench.sweep.plan import Plan
    from kernbench.sweep.run import FinishedSweep

MOST_SHOWN = 3  # failed points named one by one


@click.command("sweep")
@click.argument("grid", metavar="GRID|BENCH", shell_complete=completion.swept)
@options.assignments("Values of a parameter: M=64,128 or topology.hbm.channel_gbs=16:128:x2; a grid's own are replaced")
@click.option(
    "--topology",
    "-t",
    help="The machine: a name or a YAML file.  [default: the grid's, else that of its kind of program]",
    shell_complete=completion.topologies,
)
@click.option(
    "--mode",
    help="hybrid, flit, analytic or auto.  [default: the grid's, else hybrid]",
    shell_complete=completion.modes(SWEEP_MODES),
)
@click.option(
    "--objective", "objectives", multiple=True, metavar="'min|max COLUMN'", help="What is best; may be repeated."
)
@click.option(
    "--error-bars",
    is_flag=True,
    help="Run each point at the ends of uncertain figures of the machine too; the table gets latency_low_ns and _high_ns.",
)
@click.option("--save", type=click.Path(path_type=Path), metavar="FILE.yaml", help="Write what is asked for as a grid.")
@options.out(
    "Where rows are kept.  [default: results/<name of the grid, or of the bench>, and -2 … for other questions]"
)
@options.FORMS
@click.option("--workers", type=int, help="Processes that run points.  [default: one a core]")
@click.option(
    "--scheduler",
    metavar="local|processes|tcp://HOST:PORT",
    default="local",
    help="Who runs the points: this computer's own workers, a Dask cluster of processes here, or the one at an address.",
)
@click.option("--retry", is_flag=True, help="Run the points that failed before once more.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first point that fails.")
@options.TIME_LIMIT
@options.OP_LIMIT
@click.option(
    "--trace-point",
    "traced",
    type=int,
    multiple=True,
    metavar="N",
    help="Keep a trace of the N-th point, from 1 in the order of the table; may be repeated.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Check the grid; say what would run, how long and in how much memory. Your Python files are read, not run.",
)
@click.option(
    "--try", "tries", is_flag=True, help="With --dry-run: run your Python files too, to try a few points of them."
)
@options.AS_JSON
@click.pass_obj
def command(
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
    """Run a program, or the traffic of a pattern, at every point of a grid.

    It keeps a table, and says what is best, what nothing beats and what matters.

    GRID is a YAML file, or the name of one in sweeps/. BENCH is what kernbench run takes (a bench, a Tanto program, a task
    graph) or a pattern of traffic, with the values of --set; bench:NAME is the bench where a grid has the same name. Values
    are 64, a list 64,128, steps 16:64:16, factors 16:128:x2, or counts 0.5:2:lin4 and 8:64:log4; sizes may have units, as
    4KiB.

    Finished points are kept as they finish: stop when you like, run the same command again and only the missing points run.
    """
    from kernbench.cli.names.asked import read_asked
    from kernbench.cli.output.files import check_directory

    if out is not None:
        check_directory(out)
    if tries and not dry_run:
        raise InputError("--try goes with --dry-run; without it the points run")
    looks = looking if dry_run and not tries else nullcontext
    with looks():
        requested = read_asked(grid, assignments, topology, mode, objectives, save, error_bars)
    with status_line() as tell, looks():
        tell("planning the points")
        from kernbench.sweep.plan import plan_sweep
        from kernbench.sweep.point_traces import check_points

        plan = plan_sweep(
            requested.grid, out, retry=retry, time_limit=time_limit, op_limit=op_limit, command=settings.command_line
        )
        check_points(plan, traced)
    if save is not None:
        from kernbench.sweep.saved_grid import save_grid

        save_grid(requested, save)
        say(f"wrote {save}", err=True)
    if dry_run:
        from kernbench.cli.output.dry_run import show_plan

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
    from kernbench.sweep.run import run_plan

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
    from kernbench.sweep.point_traces import write_traces

    with redirect_stdout(sys.stderr), status_line() as tell:
        return {f"trace of point {number}": path for number, path in write_traces(plan, numbers, tell).items()}


def _announce(plan: Plan) -> None:
    from kernbench.sweep.question import RESULTS

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
        from kernbench.cli.output.compiling import announce_compiling

        announce_compiling()


def _show(
    result: FinishedSweep, scan: polars.LazyFrame, traces: Mapping[str, Path], forms: Sequence[str], as_json: bool
) -> None:
    import polars

    from kernbench.cli.output.files import show_files
    from kernbench.report.pages.markdown_report import find_gaps, tell_free
    from kernbench.report.pages.sweep_outputs import choose_objectives, find_rows, read_report_columns, write_outputs
    from kernbench.report.tables.table_files import write_forms
    from kernbench.report.unequal_work import tell_unequal_work
    from kernbench.sweep.results.pareto import best_point

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
    for sentence in [*told, *_tell_error_bars(plan, table, objectives)]:
        say(sentence)
    if result.decided:
        say(f"mode auto, {result.wall_s:.1f} s: {result.decided}")
    else:
        say(f"{plural(len(plan.missing), 'point')} ran in {result.wall_s:.1f} s")
    show_files({name: path for name, path in files.items() if path.suffix != ".png"})  # the PNG lies beside its SVG


def _tell_error_bars(plan: Plan, table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """Whether what is uncertain of the machine could turn the ranking around, of a sweep with error bars."""
    if not plan.grid.error_bars:
        return []
    import polars

    from kernbench.report.tables.sweep_tables import RANKED
    from kernbench.sweep.results.error_bars import FILE, tell_ranking
    from kernbench.sweep.results.pareto import rank_points

    ranked = rank_points(table, objectives[0], RANKED)
    return tell_ranking(polars.read_parquet(plan.directory / FILE), ranked, objectives[0])


def _show_stopped(plan: Plan) -> None:
    """Write the reports of a sweep that has ended at a failure, so that they say why."""
    import polars

    from kernbench.report.pages.sweep_outputs import write_outputs
    from kernbench.sweep.results.file_names import TABLE

    table = plan.directory / TABLE
    if table.is_file():
        files = write_outputs(plan.grid, polars.scan_parquet(table), plan.directory)
        say(f"wrote {files['page']}", err=True)


def _show_results(table: polars.DataFrame, objectives: Sequence[Objective]) -> None:
    from kernbench.report.tables.sweep_tables import best_points, front_points, sensitivity_table
    from kernbench.sweep.results.pareto import rank_points
    from kernbench.sweep.results.sensitivity import find_sensitivities

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
    from kernbench.report.pages.markdown_report import find_free
    from kernbench.report.unequal_work import find_unequal_work
    from kernbench.sweep.results.pareto import pareto_front
    from kernbench.sweep.results.sensitivity import find_sensitivities

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
        **({"ranking": _tell_error_bars(plan, table, objectives)} if plan.grid.error_bars else {}),
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
