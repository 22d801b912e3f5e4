"""The table of a sweep: a row per point; first what the grid sets, then the bench's other parameters, then what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.sweep.axis import Value
from kernbench.sweep.point import Point
from kernbench.sweep.row import COLUMNS, Row

if TYPE_CHECKING:
    import polars


def build_table(points: Sequence[Point], rows: Mapping[str, Row], axes: Sequence[str] = ()) -> polars.DataFrame:
    """The table of those points that have a row, in the grid's order; the columns of `axes` come first.

    A parameter's column is of integers, numbers or truths if all its values are, else of text. The result columns and
    their types are `row.COLUMNS`.
    """
    import polars

    assigned = {point.key: point.columns for point in points}
    names = dict.fromkeys([*axes, *points[0].columns]) if points else ()
    types = {name: _column_type([values[name] for values in assigned.values()]) for name in names}
    done = [key for key in assigned if key in rows]
    columns: dict[str, list[Any]] = {}
    for name in names:
        values = [assigned[key][name] for key in done]
        columns[name] = [str(value) for value in values] if types[name] is str else values
    columns |= {name: [rows[key][name] for key in done] for name in COLUMNS}
    return polars.DataFrame(columns, schema={**types, **COLUMNS}, strict=False)


def _column_type(values: Sequence[Value]) -> type:
    kinds = {type(value) for value in values}
    if len(kinds) == 1:
        return kinds.pop()
    return float if kinds == {int, float} else str
