"""The points that moved between two sweeps, as a table on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.report.tables.sweep_tables import MARKS, format_value
from kernbench.sweep.results.comparison import ALGORITHM, CHANGE, Comparison
from kernbench.sweep.results.swept_axes import short_name
from kernbench.sweep.row import BOUND, OK
from kernbench.text import plural
from kernbench.text_table import KEEP, Column, TextTable

if TYPE_CHECKING:
    import polars


SETTING, FIGURE, MORE = 3, 2, 1  # ranks: what says which point it is goes last, figures beside the first one go first


def moved_points(found: Comparison, moved: polars.DataFrame, most: int) -> TextTable:
    """The first `most` points that moved: the parameters that vary, each figure in A and in B, its change."""
    title = f"{plural(len(moved), 'point')} moved" + (f", {most} shown" if len(moved) > most else "")
    rows = moved.head(most)
    columns = [
        Column(short_name(name), list(map(format_value, rows[name])), right=rows[name].dtype.is_numeric(), rank=SETTING)
        for name in found.parameters
        if found.pairs[name].n_unique() > 1
    ]
    for column in found.columns:
        columns += _changes(rows, column, is_first=column == found.columns[0])
    if set(rows["status_a"]) | set(rows["status_b"]) > {OK}:
        columns.append(Column("status", _both(rows, "status")))
    if {f"{ALGORITHM}_a", f"{ALGORITHM}_b"} <= set(rows.columns):
        columns.append(Column("collective algorithm", _both(rows, ALGORITHM)))
    return TextTable(columns, title)


def _both(rows: polars.DataFrame, name: str) -> list[str]:
    """A text column on both sides, once where it is the same."""
    pairs = zip(rows[f"{name}_a"], rows[f"{name}_b"], strict=True)
    return [str(a or "") if a == b else f"{a or ''} → {b or ''}" for a, b in pairs]


def _figure(column: str, value: float | None) -> str:
    """Times with three decimals, so that digits stand below each other."""
    return f"{value:,.3f}" if value is not None and column.endswith("_ns") else format_value(value)


def _changes(rows: polars.DataFrame, column: str, *, is_first: bool) -> list[Column]:
    """A figure in A and in B, and by what part it moved."""
    sides = [
        [
            MARKS[row.get(f"{column}{BOUND}_{side}")] + _figure(column, row[f"{column}_{side}"])
            for row in rows.to_dicts()
        ]
        for side in "ab"
    ]
    changes = ["" if change is None else f"{change:+.3%}" for change in rows[column + CHANGE]]
    headings = (f"{column} A", "B", "change") if is_first else (f"{column} A", f"{column} B", f"{column} change")
    ranks = (KEEP, KEEP, KEEP) if is_first else (MORE, MORE, FIGURE)
    return [
        Column(heading, cells, right=True, rank=rank)
        for heading, cells, rank in zip(headings, (*sides, changes), ranks, strict=True)
    ]
