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
    differs from point to point the most achieved TFLOPS, and of traffic the most accepted load as well as the least latency.
    Of networks a step is the time, and tokens a second of a user and of all, or images a second, are the rates. In mode auto,
    the objectives that decided which points ran.
    """
    if grid.objectives or grid.mode == Mode.AUTO:
        return objectives_of(grid)
    return default_objectives(table, of_traffic=grid.pattern is not None)


def default_objectives(table: polars.DataFrame, *, of_traffic: bool) -> tuple[Objective, ...]:
    """The objectives of a grid that names none, by what varies in its table."""
    done = answerable(table)
    time = Objective("step_ns") if _all_have(done, "step_ns") else LATENCY
    if not same_work(find_swept(table)):
        if of_traffic:
            return (Objective("accepted", least=False), LATENCY)
        if time is not LATENCY:
            if _all_have(done, "tokens_s"):
                return (Objective("user_tokens_s", least=False), Objective("tokens_s", least=False))
            return (Objective("sequences_s", least=False),)
        rates = done["achieved_tflops"]
        if not rates.null_count() and rates.max():
            return (Objective("achieved_tflops", least=False),)
    cost = find_cost(done)
    return (time, Objective(cost.column)) if cost else (time,)


def _all_have(done: polars.DataFrame, column: str) -> bool:
    """Whether all points have a figure, of those that only networks have."""
    return column in done.columns and bool(done.height) and not done[column].null_count()
