"""The progress of a sweep on stderr: a bar on a terminal, else lines at intervals."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from kernbench.cli.output.progress import tell_progress
from kernbench.cli.output.screen import say
from kernbench.modes import Mode
from kernbench.sweep.execution.point_progress import OnProgress, PointProgress
from kernbench.sweep.plan import Plan
from kernbench.sweep.point import Point
from kernbench.sweep.row import Row
from kernbench.sweep.run import OnPoint
from kernbench.text import clip

MOST_LINES = 40  # of progress, if there is no terminal for a bar
BESIDE_BAR = 32  # characters: the spinner, the shortest bar, two times and the blanks between


@contextmanager
def show_progress(plan: Plan) -> Generator[tuple[OnPoint, OnProgress | None]]:
    """Callbacks for finished points and for those under way: they draw a bar; without a terminal the first writes lines."""
    console = Console(stderr=True)
    if not plan.missing or not console.is_terminal:
        yield _line_writer(plan), None
        return

    def whole() -> Column:
        return Column(no_wrap=True)  # the bar shrinks, and no time is cut

    times = (TimeElapsedColumn(whole()), TextColumn("left"), TimeRemainingColumn(table_column=whole()))
    counts = MofNCompleteColumn(table_column=whole())
    columns = (SpinnerColumn(table_column=whole()), BarColumn(), counts, *times, TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as progress:
        task, done, under_way = progress.add_task("", total=_to_run(plan)), 0, dict[int, float]()

        def draw(text: str | None = None) -> None:
            total = max(progress.tasks[task].total or 0, done + len(under_way))
            description = text and clip(text, console.width - BESIDE_BAR - 2 * len(f"{total}"))
            progress.update(task, completed=done + sum(under_way.values()), total=total, description=description)

        def on_point(point: Point, _row: Row) -> None:
            nonlocal done
            done += 1
            under_way.pop(point.index, None)
            draw()

        def on_progress(found: PointProgress) -> None:
            under_way[found.point] = found.share
            draw(_tell(found))

        yield on_point, on_progress


def _tell(found: PointProgress) -> str:
    """How far a point has come."""
    text = f"point {found.point + 1}: {found.stage}"
    return f"{text}, {tell_progress(found.served, found.now_fs)}, {found.share:.0%}" if found.served else text


def _to_run(plan: Plan) -> int:
    """The largest number of points that will run; a search finds out later which of its points are stored."""
    return plan.most_points - len(plan.points) + len(plan.missing)


def _line_writer(plan: Plan) -> OnPoint:
    """A callback that writes a line at intervals; mode auto counts the points that run after all are bounded separately."""
    total = _to_run(plan)
    every = -(-(total or len(plan.points)) // MOST_LINES)
    done = 0

    def write(point: Point, row: Row) -> None:
        nonlocal done
        done += 1
        if done % every == 0 or done == total:
            count = f"{done}/{total}" if done <= total else f"{done - total} with events"
            say(f"{count}  {tell_assignments(plan, point.columns)}  {_outcome(row)}", err=True)

    return write


def _outcome(row: Row) -> str:
    if row["error"]:
        return row["status"]
    return f"{'≥ ' if row['fidelity'] == Mode.ANALYTIC else ''}{row.get('step_ns') or row['latency_ns']:,.1f} ns"


def tell_assignments(plan: Plan, columns: dict[str, Any]) -> str:
    """The values of the axes that vary, but for those whose `when` is not met at the point."""
    varying = [axis.name for axis in plan.grid.axes if axis.span or len(axis.values) > 1]
    return " ".join(f"{name}={columns[name]}" for name in varying if columns.get(name) is not None)
