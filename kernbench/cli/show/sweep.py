"""`kernbench show` of sweeps: what runs, over which parameters, asked which question."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from math import prod
from typing import Any

from kernbench import library
from kernbench.errors import InputError
from kernbench.frontends.shown import Section, Shown
from kernbench.library import show_path
from kernbench.machine.sheets.field_values import show_topology
from kernbench.schema.described import as_text
from kernbench.sweep.grid.grid import Axis, Grid, load_grid
from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.programs import find_workload
from kernbench.text import plural

MOST_VALUES = 12  # of a parameter, that are shown
COLUMNS = {
    "field": "parameter",
    "values": "values",
    "with": "together with",
    "when": "only where",
    "meaning": "meaning",
}


def show_sweep(name: str, prefix: str | None) -> Shown:
    """A sweep with its parameters. Errors: InputError as `load_grid`, and for the prefix."""
    path = library.find("sweeps", name)
    grid = load_grid(path)
    meanings = _meanings(grid)
    rows = [
        {
            "field": axis.name,
            "values": values_of(axis),
            "with": ", ".join(other.name for other in group if other is not axis),
            "when": axis.when.text if axis.when else "",
            "meaning": meanings.get(axis.name, ""),
        }
        for group in grid.groups
        for axis in group
    ]
    points = grid.samples or prod(len(group[0].values) for group in grid.groups)
    data = {
        "name": grid.name,
        "kind": "sweep",
        "description": grid.description,
        "file": str(path),
        "workload": grid.workload,
        "topology": grid.topology,
        "mode": grid.mode,
        "method": grid.method,
        "points": points,
        "fields": [{**row, "values": [*axis.values]} for row, axis in zip(rows, grid.axes, strict=True)],
        "derived": {one.name: one.expression.text for one in grid.derived},
        "objectives": [str(one) for one in grid.objectives],
    }
    said = f"{grid.workload} on {grid.topology}, {grid.mode} mode, {_count(grid, points)}"
    shown = Shown(
        grid.name,
        "sweep",
        grid.description or said,
        show_path(path),
        [Section("", rows, COLUMNS)] if rows else [],
        data,
        text=said,
        remarks=[*_questions(grid), f"kernbench sweep {path.stem} runs it"],
    )
    return shown.only(prefix) if prefix else shown


def _count(grid: Grid, points: int) -> str:
    before = ", before its conditions" if grid.rules and not grid.samples else ""
    return f"{plural(points, 'point')}{before}{'' if grid.method == 'grid' else f' by method {grid.method}'}"


def _questions(grid: Grid) -> list[str]:
    found = [f"{one.name} = {one.expression.text}" for one in grid.derived]
    found += [f"{'only where' if rule.keeps else 'not where'} {rule.condition.text}" for rule in grid.rules]
    if grid.objectives:
        found.append(f"objectives: {', '.join(map(str, grid.objectives))}")
    if grid.baseline:
        found.append(f"compared with {', '.join(f'{axis.name}={as_text(axis.values[0])}' for axis in grid.baseline)}")
    return found


def values_of(axis: Axis) -> str:
    """The values of a parameter, or the first of many."""
    if axis.span is not None:
        return f"{axis.span.low:g} to {axis.span.high:g}"
    shown = ", ".join(as_text(value) for value in axis.values[:MOST_VALUES])
    more = len(axis.values) - MOST_VALUES
    return f"{shown} and {more} more" if more > 0 else shown


def _meanings(grid: Grid) -> Mapping[str, str]:
    """The meaning of each parameter that says one: a field of the topology, or a parameter of the bench."""
    found: dict[str, Any] = {}
    with suppress(InputError):  # a sweep is shown even if its topology is not there
        found = {TOPOLOGY + one.path: one.field.meaning for one in show_topology(grid.topology).all_fields}
    with suppress(InputError):
        rows = find_workload(grid).parameter_rows()
        found |= {row["field"]: row["meaning"] for row in rows}
    return found
