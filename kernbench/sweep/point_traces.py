"""Traces of chosen points of a sweep: each is run once more, with events, and its trace kept beside the table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.modes import Mode
from kernbench.runs.result import RunResult
from kernbench.sweep.programs import run_point

if TYPE_CHECKING:
    from kernbench.limits.run_options import OnStage
    from kernbench.sweep.plan import Plan
    from kernbench.sweep.point import Point

TRACES = "traces"  # the directory, in that of the sweep


def check_points(plan: Plan, numbers: Sequence[int]) -> None:
    """Check that points can be traced; they are numbered from 1 in the grid's order, as rows of the table are.

    Errors: InputError.
    """
    if not numbers:
        return
    if plan.grid.bench is None:
        raise InputError("--trace-point traces runs of a bench, and this grid sends the traffic of a pattern")
    if plan.grid.method == "optimise":
        raise InputError(
            "--trace-point names points by number, and a search has none before it ends; use kernbench run"
        )
    for number in numbers:
        if not 1 <= number <= len(plan.points):
            raise InputError(f"--trace-point {number}: the points of this grid are 1 to {len(plan.points):,}")


def write_traces(plan: Plan, numbers: Sequence[int], on_stage: OnStage = lambda _: None) -> dict[int, Path]:
    """Run points again and write their traces; returns the file of each. Errors: as `check_points`, and those of the runs."""
    check_points(plan, numbers)
    files: dict[int, Path] = {}
    for number in dict.fromkeys(numbers):
        on_stage(f"tracing point {number:,}")
        files[number] = plan.directory / TRACES / f"point-{number}.pftrace"
        _write(plan.points[number - 1], files[number])
    return files


def _write(point: Point, file: Path) -> None:
    found = run_point(point, Mode.FLIT if point.mode == Mode.FLIT else Mode.HYBRID)
    assert isinstance(found, RunResult)
    found.write_trace(file)
