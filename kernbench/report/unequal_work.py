"""Points of a sweep that do unequal work: of these the least time is that of the least work, not of the best design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import answerable
from kernbench.sweep.results.swept_axes import Swept, find_swept, short_name
from kernbench.sweep.row import COLUMNS

if TYPE_CHECKING:
    import polars

ROUNDING = 1e-6  # by which figures of the same work may differ
_FLOPS = "useful flops"


class UnequalWork(NamedTuple):
    """How many times the useful flops of the least work the most work has, and the parameters that make the difference."""

    times: float
    parameters: list[str]


def find_unequal_work(table: polars.DataFrame, objectives: Sequence[Objective]) -> UnequalWork | None:
    """The difference in the work of points of which the least time is wanted; None if there is none."""
    import polars

    if not any(one.least and one.column in COLUMNS and one.column.endswith("_ns") for one in objectives):
        return None
    flops = (polars.col("achieved_tflops") * polars.col("pe_exec_ns")).alias(_FLOPS)
    if not {"achieved_tflops", "pe_exec_ns"} <= set(table.columns):
        return None
    done = answerable(table).with_columns(flops).filter(polars.col(_FLOPS) > 0)
    times = float(done.select(_spread()).item() or 1.0)
    if times <= 1 + ROUNDING:
        return None
    own = [axis for axis in find_swept(done) if not axis.of_topology]
    telling = [axis for axis in own if _changes_work(done, axis)] or [axis for axis in own if axis.numeric]
    return UnequalWork(times, [name for axis in telling for name in (axis.column, *axis.companions)])


def tell_unequal_work(table: polars.DataFrame, objectives: Sequence[Objective]) -> list[str]:
    """A sentence on unequal work, if there is any."""
    found = find_unequal_work(table, objectives)
    if found is None:
        return []
    by = " and ".join(map(short_name, found.parameters))
    time = next(str(one) for one in objectives if one.least and one.column.endswith("_ns"))
    return [
        f"the points do unequal work, up to {found.times:.3g} times as many useful flops by {by}, and in {time} less work "
        f"counts as better: compare points of equal {by}, or give objectives: [max achieved_tflops]"
    ]


def _changes_work(done: polars.DataFrame, axis: Swept) -> bool:
    """Whether points differ in their work that differ in an axis alone."""
    others = [other.column for other in find_swept(done) if other.column != axis.column]
    alike = done.group_by(others).agg(_spread()) if others else done.select(_spread())
    return bool((alike[_FLOPS] > 1 + ROUNDING).any())


def _spread() -> polars.Expr:
    """How many times the least work of some points the most is."""
    import polars

    return polars.col(_FLOPS).max() / polars.col(_FLOPS).min()
