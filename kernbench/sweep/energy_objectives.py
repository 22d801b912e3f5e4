"""Objectives in joules, watts, mm² and dollars: what lacks for one is said by sheet and field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kernbench.energy.bill import find_bill
from kernbench.energy.run_energy import check_priced
from kernbench.errors import InputError
from kernbench.library import show_path
from kernbench.machine import load_machine
from kernbench.modes import Mode
from kernbench.sweep.row import NEED_ENERGY, OF_MACHINE, OK

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.machine.machine import Machine
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point


def check_objectives(grid: Grid, points: Sequence[Point]) -> None:
    """Errors: InputError for an objective that no point can have a value of, before anything runs."""
    energy = _asked(grid, NEED_ENERGY)
    machine_figures = _asked(grid, OF_MACHINE)
    if energy and grid.mode in (Mode.ANALYTIC, Mode.AUTO):
        raise InputError(f"objective {energy[0]} needs runs, and mode {grid.mode} bounds times alone; use mode hybrid")
    if not (energy or machine_figures):
        return
    first = points[0]
    machine = load_machine(first.topology, dict(first.overrides))
    try:
        if energy:
            check_priced(machine)
    except InputError as error:
        raise InputError(f"objective {energy[0]}: {error}") from None
    for column in machine_figures:
        _check_bill(machine, column)


def check_rows(grid: Grid, points: Sequence[Point], table: Path) -> None:
    """Errors: InputError if the points that ran lack the figure of an objective, with the sheet and the field."""
    import polars

    wanted = _asked(grid, NEED_ENERGY)
    if not wanted:
        return
    rows = polars.scan_parquet(table).filter(polars.col("status") == OK).select(*wanted, "no_figures").collect()
    for column in wanted:
        lacking = rows.filter(polars.col(column).is_null())["no_figures"].drop_nulls()
        if len(lacking):
            raise InputError(f"objective {column}: {_say_missing(points[0], str(lacking[0]).split(', '))}")


def _asked(grid: Grid, columns: Sequence[str]) -> list[str]:
    """Those of some columns that are objectives, or that formulas of objectives read."""
    formulas = {derived.name: derived.expression.names for derived in grid.derived}
    read, open_ = set[str](), [one.column for one in grid.objectives]
    while open_:
        name = open_.pop()
        if name not in read:
            read.add(name)
            open_ += formulas.get(name, ())
    return [column for column in columns if column in read]


def _say_missing(point: Point, fields: Iterable[str]) -> str:
    """Which sheet of the machine of a point lacks which figure."""
    from kernbench.machine.sheets.field_values import show_topology

    shown = show_topology(point.topology, dict(point.overrides))
    sheets = {name: show_path(part.sheet) for name, part in shown.parts.items()}
    named = (f"{sheets.get(field.partition('.')[0], 'its sheet')} lacks {field.partition('.')[2]}" for field in fields)
    return f"{', '.join(named)}; give it, with its unit and source"


def _check_bill(machine: Machine, column: str) -> None:
    bill = find_bill(machine)
    if getattr(bill, column) is None:
        lacking = "; ".join(bill.missing) or "a die is larger than a wafer"
        raise InputError(f"objective {column} of machine {machine.name}: {lacking}")
