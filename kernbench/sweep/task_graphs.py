"""Grids of task graphs: the points of a grid file whose bench is one of `benches/pto`, one after the other.

A parameter is one of the bench's case, `case`, `runtime`, or a field of the topology. A point that the runtime stops is a row
with its fatal code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench import library
from kernbench.errors import InputError
from kernbench.pto.bench import PtoBench, find_bench, run_bench
from kernbench.pto.results.summary import summarise
from kernbench.pto.runtime.fatal import FatalCode, FatalError
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Grid, load_grid
from kernbench.sweep.point import TOPOLOGY

if TYPE_CHECKING:
    import polars

FOLDER = "sweeps/pto"
FIGURES = ("span_us", "run_us", "orchestrated_us", "blocked", "tasks")
OnPoint = Callable[[int, int], object]  # how many points are done, and of how many


def load_task_graph_grid(name: str | Path | Mapping[str, Any]) -> Grid:
    """A grid by name or path, or as a mapping. Errors: InputError for what a grid of task graphs does not take."""
    grid = load_grid(name if isinstance(name, Mapping) else library.find(FOLDER, name))
    taken = (
        grid.bench is None or grid.method != "grid" or grid.rules or grid.derived or grid.objectives or grid.baseline
    )
    if taken or any(axis.span or axis.when for axis in grid.axes):
        raise InputError(f"grid {grid.name!r}: a grid of task graphs has a bench, a topology, parameters and zip alone")
    return grid


def list_points(grid: Grid) -> list[dict[str, Value]]:
    """The values of each point, the last axis varying fastest."""
    steps = [
        [tuple((axis.name, axis.values[at]) for axis in group) for at in range(len(group[0].values))]
        for group in grid.groups
    ]
    return [dict(pair for step in chosen for pair in step) for chosen in product(*steps)]


def run_task_graphs(grid: Grid, on_point: OnPoint | None = None) -> polars.DataFrame:
    """A row for each point: its parameters, span_us, run_us and others, utilisation, and the fatal code if it stopped.

    Errors: InputError for a bench, a case, a parameter or a field that there is none of.
    """
    import polars

    assert grid.bench is not None
    bench, points = find_bench(grid.bench), list_points(grid)
    rows: list[dict[str, Any]] = []
    for point in points:
        rows.append({**point, **_run(bench, grid, point)})
        if on_point:
            on_point(len(rows), len(points))
    return polars.DataFrame(rows, infer_schema_length=None)


def _run(bench: PtoBench, grid: Grid, point: Mapping[str, Value]) -> dict[str, Any]:
    overrides: dict[str, object] = {
        name.removeprefix(TOPOLOGY): value for name, value in point.items() if name.startswith(TOPOLOGY)
    }
    own = {name: str(value) for name, value in point.items() if not name.startswith(TOPOLOGY)}
    case, runtime = own.pop("case", None), own.pop("runtime", None)
    try:
        run = run_bench(
            bench, grid.topology, case=case, parameters=own, overrides=overrides, backend=runtime, mode=grid.mode,
            verify=False,
        )  # fmt: skip
    except FatalError as error:
        if error.fatal_code == FatalCode.INVALID_ARGS:
            raise
        return {**dict.fromkeys((*FIGURES, "aic", "aiv")), "fatal_code": int(error.fatal_code)}
    summary = summarise(run.outcome)
    figures = {name: getattr(summary, name) for name in FIGURES}
    return {**figures, **summary.utilisation, "fatal_code": None}
