"""Columns after the results: derived columns, feasibility, shares of the baseline.

A grid asks for derived columns, for whether a point keeps the conditions on its results (`feasible`), and for each objective
as a share of the baseline's. They are computed when the table is built, so a new formula runs no point again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kernbench.sweep.design.parameter_space import late_names
from kernbench.sweep.design.points import SweepContext
from kernbench.sweep.grid.grid import Derived, Grid, Objective, Rule
from kernbench.sweep.results.bounds import BOUNDED_MODES, BoundedColumns
from kernbench.sweep.row import FEASIBLE, VERSUS

if TYPE_CHECKING:
    import numpy as np
    import polars

LATENCY = Objective("latency_ns")


def objectives_of(grid: Grid) -> tuple[Objective, ...]:
    """The objectives of the grid; the least latency if it has none."""
    return grid.objectives or (LATENCY,)


def add_derived(grid: Grid, context: SweepContext, table: polars.DataFrame) -> polars.DataFrame:
    """The table with the columns that depend on one row alone: derived columns and feasibility.

    Where rows may be bounds (modes analytic and auto), a column that reads results is followed by one that says what its
    figure bounds; both are null where it bounds nothing, as is the feasibility that bounds leave open.
    """
    late = late_names(grid)
    bounded = BoundedColumns(table, context.fields) if grid.mode in BOUNDED_MODES else None
    for derived in grid.derived:
        values = _derive(derived, context, table)
        if bounded and derived.name in late:
            table = table.with_columns(bounded.settle(derived.expression, values))
            continue
        table = table.with_columns(values)
        if bounded:
            bounded.keep(values)
    rules = [rule for rule in grid.rules if rule.condition.names & late]
    return table.with_columns(_judge(rules, context, table, bounded)) if rules else table


def add_shares(grid: Grid, table: polars.DataFrame, baseline: np.ndarray, bases: polars.DataFrame) -> polars.DataFrame:
    """The table with each objective as a share of the baseline's.

    baseline: S32[row] the key of the point that each is compared with; bases: `of`, such a key, and the objectives there.
    """
    import polars

    pairs = polars.DataFrame({"of": polars.Series(baseline).cast(polars.String)})
    base = pairs.join(bases, on="of", how="left", maintain_order="left")
    names = [objective.column for objective in objectives_of(grid)]
    parts = base.with_columns(polars.col(names).cast(polars.Float64).replace(0.0, None))  # nothing is a share of 0
    return table.with_columns((table[name].cast(polars.Float64) / parts[name]).alias(name + VERSUS) for name in names)


def _derive(derived: Derived, context: SweepContext, table: polars.DataFrame) -> polars.Series:
    """Null where there is no value: no result yet, a division by zero."""
    import polars

    values = [_or_none(derived.expression.figure, names) for names in _names(derived.expression.names, context, table)]
    truths = {name for name, kind in table.schema.items() if kind == polars.Boolean}
    truths |= {name for name, value in context.fields.items() if isinstance(value, bool)}
    kind = polars.Boolean if derived.expression.is_truth(truths) else polars.Float64
    return polars.Series(derived.name, values, dtype=kind, strict=False)


def _judge(
    rules: list[Rule], context: SweepContext, table: polars.DataFrame, bounded: BoundedColumns | None
) -> polars.Series:
    """Whether rows keep all rules; null where bounds leave it open."""
    import polars

    holds: list[bool | None] = [True] * len(table)
    for rule in rules:
        names = _names(rule.condition.names, context, table)
        holds = [
            so_far and _or_none(rule.condition.holds, at) is rule.keeps for so_far, at in zip(holds, names, strict=True)
        ]
    if bounded:
        for place, kept in zip(bounded.which.nonzero()[0].tolist(), bounded.judge(rules), strict=True):
            holds[place] = kept
    return polars.Series(FEASIBLE, holds, dtype=polars.Boolean)


def _names(wanted: Iterable[str], context: SweepContext, table: polars.DataFrame) -> Iterator[Mapping[str, Any]]:
    """The values of names in each row; a field of the topology that no axis sets has one value in all rows."""
    held = [name for name in sorted(wanted) if name in table.columns]
    rest = {name: context.fields.get(name) for name in wanted if name not in held}
    if not held:
        return (rest for _ in range(len(table)))
    return ({**rest, **row} for row in table.select(held).iter_rows(named=True))


def _or_none(value_of: Callable[[Mapping[str, Any]], Any], names: Mapping[str, Any]) -> Any:
    try:
        return value_of(names)
    except ValueError:
        return None
