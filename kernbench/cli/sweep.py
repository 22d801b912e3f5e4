"""`kernbench sweep`: one bench at every point of a grid.

What is asked for (the table, the JSON) goes to stdout; how it is going goes to stderr.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli.main import CANCELLED
from kernbench.errors import RunError
from kernbench.sweep.row import OK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernbench.sweep.plan import Plan
    from kernbench.sweep.point import Point
    from kernbench.sweep.row import Row
    from kernbench.sweep.run import OnPoint, SweepResult

MOST_LINES = 40  # of progress, where there is no terminal to draw a bar on
MOST_SHOWN = 3  # failed points named one by one


@click.command("sweep")
@click.argument("grid")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where rows are kept.  [default: results/<name of the grid>]"
)
@click.option("--workers", type=int, help="Processes that run points.  [default: one a core]")
@click.option(
    "--scheduler",
    metavar="local|processes|tcp://HOST:PORT",
    default="local",
    help="Who runs the points: this computer's own workers, a Dask cluster of processes here, or the one at an address.",
)
@click.option("--retry", is_flag=True, help="Run the points that failed before once more.")
@click.option("--dry-run", is_flag=True, help="Check the grid and say what would run.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
def command(
    grid: str, out: Path | None, workers: int | None, retry: bool, dry_run: bool, as_json: bool, scheduler: str
) -> int:
    """Run a bench at every point of GRID; keep a table and a plot.

    GRID is a YAML file, or the name of one in sweeps/. Finished points are kept as they finish: stop when you like, run
    the same command again and only the missing points run.
    """
    from kernbench.cli.outputs import check_directory
    from kernbench.sweep.plan import plan_sweep
    from kernbench.sweep.run import run_plan

    if out is not None:
        check_directory(out)
    plan = plan_sweep(grid, out, retry=retry)
    if dry_run:
        _show_plan(plan, as_json)
        return 0
    _announce(plan)
    try:
        with _progress(plan) as on_point:
            result = run_plan(plan, workers, on_point, scheduler=scheduler)
        _show(result, as_json)
    except KeyboardInterrupt:
        click.echo(f"interrupted: finished points are kept in {plan.directory}; the same command goes on", err=True)
        return CANCELLED
    if result.failed:
        raise RunError(f"{result.failed} of {len(plan.points)} points failed; the column error of the table says why")
    return 0


def _announce(plan: Plan) -> None:
    grid, total, missing = plan.grid, len(plan.points), len(plan.missing)
    kept = f", {total - missing} already in {plan.directory}" if total > missing else ""
    click.echo(f"{grid.name}: {grid.bench} on {grid.topology}, {grid.mode} mode: {total} points{kept}", err=True)
    if plan.changed:
        changed = " and ".join(plan.changed)
        click.echo(f"{changed} changed since the last run here: {missing} points run anew", err=True)
    if missing:
        from kernbench.cli.compiling import announce_compiling

        announce_compiling()


def _show_plan(plan: Plan, as_json: bool) -> None:
    machines = len({tuple(point.overrides.items()) for point in plan.points})
    counts = {"points": len(plan.points), "missing": len(plan.missing), "machines": machines}
    if as_json:
        click.echo(json.dumps({"sweep": plan.grid.name, **counts, "out": str(plan.directory)}))
        return
    click.echo(f"{counts['points']} points on {machines} machines; {counts['missing']} are not in {plan.directory} yet")


@contextmanager
def _progress(plan: Plan) -> Iterator[OnPoint]:
    """What to call as points finish: draws a bar on a terminal, writes lines elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not plan.missing or not console.is_terminal:
        yield _line_writer(plan)
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("points", total=len(plan.missing))
        yield lambda _point, _row: progress.advance(task)


def _line_writer(plan: Plan) -> OnPoint:
    total = len(plan.missing)
    every = -(-total // MOST_LINES)
    done = 0

    def write(point: Point, row: Row) -> None:
        nonlocal done
        done += 1
        if done % every == 0 or done == total:
            click.echo(f"{done}/{total}  {_assignments(plan, point.columns)}  {_outcome(row)}", err=True)

    return write


def _outcome(row: Row) -> str:
    return row["status"] if row["error"] else f"{row['latency_ns']:,.1f} ns"


def _assignments(plan: Plan, columns: dict[str, Any]) -> str:
    return " ".join(f"{axis.name}={columns[axis.name]}" for axis in plan.grid.axes if len(axis.values) > 1)


def _show(result: SweepResult, as_json: bool) -> None:
    from kernbench.report.pareto import plot_pareto
    from kernbench.report.plot import plot_latency
    from kernbench.report.table import best_points, rank_points

    plan, table = result.plan, result.table
    title = plan.grid.description or f"{plan.grid.bench} on {plan.grid.topology}"
    plots = plot_latency(table, plan.directory / "latency", title) + plot_pareto(
        table, plan.directory / "pareto", title
    )
    ranked, _ = rank_points(table)
    if as_json:
        click.echo(json.dumps(_summary(result, plots, ranked.head(1).to_dicts())))
        return
    for row in table.filter(table["status"] != OK).head(MOST_SHOWN).to_dicts():
        click.echo(f"{_assignments(plan, row)}: {row['error']}", err=True)
    if len(ranked):
        from kernbench.cli.screen import show

        show(best_points(table))
    click.echo(f"{len(plan.missing)} points ran in {result.wall_s:.1f} s")
    for path in (result.table_path, *plots):
        click.echo(f"wrote {path}")


def _summary(result: SweepResult, plots: list[Path], best: list[dict[str, Any]]) -> dict[str, Any]:
    plan = result.plan
    return {
        "sweep": plan.grid.name,
        "bench": plan.grid.bench,
        "topology": plan.grid.topology,
        "mode": plan.grid.mode,
        "points": len(plan.points),
        "ran": len(plan.missing),
        "failed": result.failed,
        "changed": list(plan.changed),
        "wall_s": result.wall_s,
        "best": best[0] if best else None,
        "files": {"table": str(result.table_path), "plots": [str(path) for path in plots]},
    }
