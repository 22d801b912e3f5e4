"""The columns that a grid asks for after the results.

These are derived columns, whether a point keeps the conditions on its results (`feasible`), and each objective as a share
of the baseline's. They are worked out whenever the table is built: a new formula runs no point anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kernbench.sweep.grid import Derived, Grid, Objective, Rule
from kernbench.sweep.points import Points
from kernbench.sweep.row import OK
from kernbench.sweep.space import late_names

if TYPE_CHECKING:
    import polars

FEASIBLE = "feasible"
VERSUS = "_vs_baseline"  # after an objective's name: its share of the baseline's
LATENCY = Objective("latency_ns")


def objectives_of(grid: Grid) -> tuple[Objective, ...]:
    """What the grid asks for; the least latency where it says nothing."""
    return grid.objectives or (LATENCY,)


def add_asked(grid: Grid, points: Points, table: polars.DataFrame) -> polars.DataFrame:
    """The table with the columns that the grid asks for."""
    for derived in grid.derived:
        table = table.with_columns(_derive(derived, points, table))
    late = [rule for rule in grid.rules if rule.condition.names & late_names(grid)]
    if late:
        table = table.with_columns(_judge(late, points, table))
    return _compare(grid, points, table) if points.baseline is not None else table


def _derive(derived: Derived, points: Points, table: polars.DataFrame) -> polars.Series:
    """Null where there is no value: no result yet, a division by zero."""
    import polars

    values = [_or_none(derived.expression.figure, names) for names in _names(derived.expression.names, points, table)]
    kinds = {type(value) for value in values} - {type(None)}
    kind = polars.Boolean if kinds == {bool} else polars.Float64
    return polars.Series(derived.name, values, dtype=kind, strict=False)


def _judge(rules: list[Rule], points: Points, table: polars.DataFrame) -> polars.Series:
    import polars

    holds = [True] * len(table)
    for rule in rules:
        names = _names(rule.condition.names, points, table)
        holds = [
            so_far and _or_none(rule.condition.holds, at) is rule.keeps for so_far, at in zip(holds, names, strict=True)
        ]
    return polars.Series(FEASIBLE, holds, dtype=polars.Boolean)


def _compare(grid: Grid, points: Points, table: polars.DataFrame) -> polars.DataFrame:
    import polars

    pairs = polars.DataFrame({"key": points.keys.astype(str), "of": points.baseline.astype(str)})  # type: ignore[union-attr]
    names = [objective.column for objective in objectives_of(grid)]
    known = table.filter(polars.col("status") == OK).select(polars.col("key").alias("of"), *names)
    bases = table.select("key").join(pairs, on="key", how="left", maintain_order="left")
    bases = bases.join(known, on="of", how="left", maintain_order="left")
    return table.with_columns((table[name] / bases[name]).alias(name + VERSUS) for name in names)


def _names(wanted: Iterable[str], points: Points, table: polars.DataFrame) -> Iterator[Mapping[str, Any]]:
    """What the names mean in each row; a field of the topology that no axis sets means the same in all."""
    setting = points.setting
    held = [name for name in sorted(wanted) if name in table.columns]
    rest = {name: setting.fields.get(name) for name in wanted if name not in held}
    if not held:
        return (rest for _ in range(len(table)))
    return ({**rest, **row} for row in table.select(held).iter_rows(named=True))


def _or_none(value_of: Callable[[Mapping[str, Any]], Any], names: Mapping[str, Any]) -> Any:
    try:
        return value_of(names)
    except ValueError:
        return None
