"""What grids name and points run, by the front-ends."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from kernbench.frontends.prepared import Request
from kernbench.frontends.registry import FRONT_ENDS, find
from kernbench.limits.run_options import RunOptions, Stage
from kernbench.limits.time_limit import limit_time
from kernbench.sweep.execution.point_progress import report_run, report_stage

if TYPE_CHECKING:
    from kernbench.frontends.frontend import Workload
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point


def find_workload(grid: Grid) -> Workload:
    """The workload of a grid. Errors: InputError for an unknown bench or pattern."""
    values = {axis.name: axis.values for axis in grid.axes}
    if grid.bench is None:
        return FRONT_ENDS["traffic"].find(str(grid.pattern), values)
    return find(grid.bench, values)


def run_point(point: Point, mode: str | None = None) -> object:
    """Run a point by its front-end, in its mode or another; what has attributes of a RunResult. Errors: KernBenchError."""
    stage = Stage(partial(report_stage, point.index))
    options = RunOptions(
        mode or point.mode, limits=point.limits, stage=stage, on_progress=partial(report_run, point.index)
    )
    name = point.parameters["pattern"] if point.bench is None else point.bench
    with limit_time(point.limits.time_s, lambda: f"{point.described}, {stage.text}"):
        values = {parameter: (value,) for parameter, value in point.parameters.items()}
        workload = FRONT_ENDS[point.front_end].find(str(name), values)
        return workload.run_point(Request(point.topology, point.parameters, point.overrides, options))
