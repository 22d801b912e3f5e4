"""The objectives by which a sweep's table is reported: those of its grid, or what its columns suggest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.modes import Mode
from kernbench.sweep.grid.grid import Grid, Objective
from kernbench.sweep.results.bounds import answerable
from kernbench.sweep.results.derived_columns import LATENCY, objectives_of
from kernbench.sweep.results.swept_axes import find_cost, find_swept, same_work

if TYPE_CHECKING:
    import polars


def choose_objectives(grid: Grid, table: polars.DataFrame) -> tuple[Objective, ...]:
    """The objectives of the grid. By default the least latency, and the least cost if the table has one cost axis; if the work
    differs from point to point the most achieved TFLOPS, and of traffic the most accepted load as well as the least latency. Of
    networks the least step, or the most tokens a second. In mode auto, the objectives that decided which points ran.
    """
    if grid.objectives or grid.mode == Mode.AUTO:
        return objectives_of(grid)
    return default_objectives(table, of_traffic=grid.pattern is not None)


def default_objectives(table: polars.DataFrame, *, of_traffic: bool) -> tuple[Objective, ...]:
    """The objectives of a grid that names none, by what varies in its table."""
    done = answerable(table)
    if "step_ns" in done.columns and done["step_ns"].len() and not done["step_ns"].null_count():
        return _objectives_of_networks(done, same_work(find_swept(table)))
    if not same_work(find_swept(table)):
        if of_traffic:
            return (Objective("accepted", least=False), LATENCY)
        rates = done["achieved_tflops"]
        if not rates.null_count() and rates.max():
            return (Objective("achieved_tflops", least=False),)
    cost = find_cost(done)
    return (LATENCY, Objective(cost.column)) if cost else (LATENCY,)


def _objectives_of_networks(done: polars.DataFrame, same: bool) -> tuple[Objective, ...]:
    """Those of networks: the least step of all layers, or the rates if the work differs."""
    if same:
        cost = find_cost(done)
        step = Objective("step_ns")
        return (step, Objective(cost.column)) if cost else (step,)
    if done["user_tokens_s"].null_count():
        return (Objective("sequences_s", least=False),)
    return (Objective("user_tokens_s", least=False), Objective("tokens_s", least=False))
