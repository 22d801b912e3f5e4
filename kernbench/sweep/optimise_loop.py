"""A search, run: ask for points, run those that have no row yet, tell the search, until it has asked for all its samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kernbench.engine.jit_status import running_s
from kernbench.errors import InputError
from kernbench.sweep.design.design import DesignBuilder
from kernbench.sweep.design.optimiser import Optimiser
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.plan import Plan, find_missing
from kernbench.sweep.result import FinishedSweep


def run_search(plan: Plan, run_part: Callable[[Plan], FinishedSweep]) -> FinishedSweep:
    """Run the search of a plan; `run_part` runs the missing points of a plan and builds the table of all its points.

    Errors: InputError where no point is allowed; what `run_part` raises.
    """
    started = running_s()
    grid = plan.grid
    space = ParameterSpace(grid, plan.inputs.defaults)
    search, builder = Optimiser(space), DesignBuilder(space)
    asked, ran = 0, np.empty(0, dtype=plan.points.keys.dtype)
    result: FinishedSweep | None = None
    while asked < grid.samples and (batch := search.ask(min(grid.batch, grid.samples - asked))):
        asked += len(batch)
        places = [builder.add(resolved) for resolved in batch]
        points = plan.inputs.points(grid, builder.build())
        missing = find_missing(points, plan.directory, retry=plan.retry)
        missing = missing.take(~np.isin(missing.keys, ran))  # with retry, what has just failed is not tried for ever
        ran = np.concatenate([ran, missing.keys])
        result = run_part(replace(plan, points=points, missing=missing))
        rows = {row["key"]: row for row in result.table.iter_rows(named=True)}
        search.tell(batch, [rows[points.design_keys[place].decode()] for place in places])
    if result is None:
        raise InputError(f"{grid.marks['method']}: the search finds no point that the conditions allow")
    points = result.plan.points
    whole = replace(plan, points=points, missing=points.take(np.isin(points.keys, ran)))
    return replace(result, plan=whole, wall_s=running_s() - started)
