"""`kernbench.sweep`: a bench at every point of a grid, and what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.api.figure import Figure, choose_figure, draw_figures
from kernbench.errors import InputError
from kernbench.machine.overrides import TOPOLOGY, split_settings
from kernbench.notebook import html_table
from kernbench.report.pages.sweep_outputs import find_rows, plot_table, read_report_columns, write_outputs
from kernbench.report.tables.sweep_tables import format_value, shown_columns
from kernbench.report.unequal_work import tell_unequal_work
from kernbench.sweep.execution.executor import LOCAL
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.request import Request, Target, read_request
from kernbench.sweep.results.error_bars import FILE
from kernbench.sweep.results.objectives import choose_objectives
from kernbench.sweep.results.pareto import pareto_front, rank_points
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.sweep.run import run_plan
from kernbench.text import plural

if TYPE_CHECKING:
    import polars

    from kernbench.sweep.grid.grid import Objective
    from kernbench.sweep.result import FinishedSweep

FEW = 10  # points that a notebook shows


class SweepResult:
    """The result of a sweep; all of it is in the files of `directory`, and read when it is asked for.

    - `name`, `workload`, `topology`, `mode`: what ran.
    - `directory`: where rows and the table are.
    - `count`, `failed`, `ran`: the points, those without a result, and those that ran now (others had rows already).
    - `wall_s`: seconds that it took.
    """

    def __init__(self, finished: FinishedSweep) -> None:
        grid = finished.plan.grid
        self.name, self.workload, self.topology, self.mode = grid.name, grid.workload, grid.topology, grid.mode
        self.directory: Path = finished.plan.directory
        self.count, self.failed, self.ran = finished.count, finished.failed, len(finished.plan.missing)
        self.wall_s = finished.wall_s
        self._finished = finished

    @cached_property
    def table(self) -> polars.DataFrame:
        """A row for each point: its parameters, results and status; docs/sweeps.md has the columns."""
        return self._finished.table

    def scan(self) -> polars.LazyFrame:
        """A scan of the table on the disk, for one that is too large for memory. Errors: OSError if it is gone."""
        import polars

        return polars.scan_parquet(self._finished.table_path)

    @cached_property
    def _columns(self) -> polars.DataFrame:
        return read_report_columns(self._finished.plan.grid, self.table.lazy())

    @cached_property
    def _objectives(self) -> tuple[Objective, ...]:
        return choose_objectives(self._finished.plan.grid, self._columns)

    @property
    def objectives(self) -> tuple[str, ...]:
        """What is best: "min latency_ns" and others, of the grid or as its columns suggest."""
        return tuple(map(str, self._objectives))

    @property
    def front(self) -> polars.DataFrame:
        """The rows that no other beats in all objectives, best in the first objective first."""
        return find_rows(self.table.lazy(), pareto_front(self._columns, self._objectives))

    def best(self, most: int = 1) -> polars.DataFrame:
        """The best rows by the first objective, at most `most`; empty if no point has a result. Errors: InputError."""
        if most < 0:
            raise InputError(f"best takes a number of rows, 0 or more; got {most}")
        return find_rows(self.table.lazy(), rank_points(self._columns, self._objectives[0], most))

    @property
    def sensitivities(self) -> polars.DataFrame:
        """What moves the objectives: objective, parameter, best, worst, spread, share, slope, points, of.

        `best` and `worst` are values of the parameter, as texts; docs/sweeps.md explains the numbers.
        """
        import polars

        rows = [
            {
                "objective": one.objective.column,
                "parameter": one.axis.column,
                "best": format_value(one.best),
                "worst": format_value(one.worst),
                "spread": one.spread,
                "share": one.share,
                "slope": one.slope,
                "points": one.points,
                "of": one.of,
            }
            for one in find_sensitivities(self._columns, self._objectives)
        ]
        numbers = {"spread": float, "share": float, "slope": float, "points": int, "of": int}
        texts = dict.fromkeys(("objective", "parameter", "best", "worst"), str)
        return polars.DataFrame(rows, schema={**texts, **numbers})

    @property
    def error_bars(self) -> polars.DataFrame:
        """The latency of each point at both ends of each uncertain figure; docs/sweeps.md has the columns.

        Errors: InputError for a sweep without.
        """
        import polars

        if not self._finished.plan.grid.error_bars:
            raise InputError("this sweep has no error bars; give error_bars=True")
        return polars.read_parquet(self.directory / FILE)

    def plot(self, directory: str | Path | None = None) -> dict[str, Path]:
        """Write the plots, the front and the reports that `kernbench sweep` writes; returns their paths by what they are.

        They go into the directory of the sweep, or another. Errors: InputError if it cannot be written.
        """
        out = self.directory if directory is None else Path(directory)
        return write_outputs(self._finished.plan.grid, self.table.lazy(), out)

    def figures(self) -> dict[str, Figure]:
        """The plots by name, "pareto", "latency", "heatmap" and "parallel", but for those that the table gives nothing for."""
        grid, table = self._finished.plan.grid, self._columns
        return draw_figures(lambda directory: plot_table(grid, table, self._objectives, directory))

    def figure(self, name: str) -> Figure:
        """One of `figures`. Errors: InputError for a name of none."""
        return choose_figure(self.figures(), name)

    def show(self) -> None:
        """Show all figures: below the cell in a notebook, elsewhere in a browser. Errors: RunError if there is neither."""
        for figure in self.figures().values():
            figure.show()

    def __repr__(self) -> str:
        what = f"{self.workload} on {self.topology}, {self.mode} mode: {plural(self.count, 'point')}"
        failed = f", {self.failed} failed" if self.failed else ""
        has = ".table, .best(n), .front, .sensitivities, .figures(), .show(), .plot()"
        return f"<SweepResult {what}{failed} in {self.directory}; {has}>"

    def _repr_html_(self) -> str:
        table, objectives = self._columns, self._objectives
        best = rank_points(table, objectives[0], FEW)
        columns = shown_columns(table, objectives)
        rows = [[format_value(row[name]) for name in columns] for row in best.to_dicts()]
        notes = [f"Pareto front of {', '.join(self.objectives)}: {plural(len(self.front), 'point')}"] * (
            len(objectives) > 1
        )
        failed = [f"{plural(self.failed, 'point')} failed; the column error of .table says why"] * bool(self.failed)
        title = f"{self.workload} on {self.topology}: best {len(best)} of {plural(self.count, 'point')} by {self.objectives[0]}"
        return html_table(title, columns, rows, *notes, *tell_unequal_work(table, objectives), *failed)


def sweep(
    grid: Target,
    out: Path | str | None = None,
    workers: int | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
    topology: str | Path | None = None,
    mode: str | None = None,
    objectives: str | Sequence[str] = (),
    error_bars: bool = False,
    retry: bool = False,
    fail_fast: bool = False,
    scheduler: str = LOCAL,
    time_limit: float | str | None = None,
    op_limit: int | None = None,
) -> SweepResult:
    """Run a bench at every point of a grid; returns a result with its table, front and sensitivities.

    `grid` is a grid (a file, a name in `sweeps/` or a mapping), or a bench (a name, a file or the decorated function), or a
    pattern of traffic. `parameters` of the bench by name and `overrides`, fields of the topology by dotted path, are values,
    lists, or texts such as "64,128" and "16:128:x2"; with `topology`, `mode` and `objectives` ("min latency_ns") they replace
    the grid's own. A field may be among the parameters by its name in grids, "topology.hbm.channel_gbs".

    With `error_bars` the table has `latency_low_ns` and `latency_high_ns`, by runs at the ends of what is uncertain of the
    machine (docs/sweeps.md).

    Rows are kept under `out` (default: results/<name of the grid>, or beside it for another question to the same bench), and
    found there the next time. A point that fails is a row with its error; with `retry` those are run again, and with
    `fail_fast` the first ends the sweep. `workers` is a number of processes (default: one a core). `scheduler` is "local",
    "processes" or the address of a Dask scheduler; `time_limit` and `op_limit` are of each point, as for `run`.

    Errors: InputError of all that is wrong with the grid; RunError with `fail_fast`.
    """
    wanted = (objectives,) if isinstance(objectives, str) else objectives
    machine = None if topology is None else str(topology)
    own, fields = split_settings(parameters, overrides)
    settings = {**own, **{TOPOLOGY + path: values for path, values in fields.items()}}
    request = Request(settings, machine, mode, wanted, "parameters", error_bars)
    asked = read_request(grid, request).grid
    plan = plan_sweep(asked, out, retry=retry, time_limit=time_limit, op_limit=op_limit)
    return SweepResult(run_plan(plan, workers, fail_fast=fail_fast, scheduler=scheduler))
