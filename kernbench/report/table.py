"""The best points of a sweep, as a table on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.report.swept import find_swept
from kernbench.sweep.row import OK

if TYPE_CHECKING:
    import polars
    from rich.table import Table


def rank_points(table: polars.DataFrame) -> tuple[polars.DataFrame, str]:
    """The finished points, best first, and what they were ranked by.

    Points that do the same work are ranked by latency; where the work differs from point to point (a numeric bench
    parameter varies), by what they achieve.
    """
    import polars

    done = table.filter(polars.col("status") == OK)
    same_work = all(axis.of_topology or not axis.numeric for axis in find_swept(table))
    if same_work or done["achieved_tflops"].null_count() or not done["achieved_tflops"].max():
        return done.sort("latency_ns", maintain_order=True), "latency"
    return done.sort("achieved_tflops", descending=True, maintain_order=True), "achieved TFLOPS"


def best_points(table: polars.DataFrame, most: int = 10) -> Table:
    """The best `most` points: what varies, latency, what was achieved and what limited it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    ranked, by = rank_points(table)
    varying = [column for axis in find_swept(table) for column in (axis.column, *axis.companions)]
    title = f"best {min(most, len(ranked))} of {len(table)} points by {by}"
    shown = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for column in varying:
        shown.add_column(column.replace(".", ".\n"), justify="right", overflow="fold")
    for heading in ("latency ns", "TFLOPS", "busy"):
        shown.add_column(heading, justify="right")
    shown.add_column("bottleneck", overflow="fold")
    for row in ranked.head(most).iter_rows(named=True):
        shown.add_row(
            *(_figure(row[column]) for column in varying),
            f"{row['latency_ns']:,.1f}",
            _optional(row["achieved_tflops"], ".3f"),
            _optional(row["bottleneck_utilisation"], ".0%"),
            row["bottleneck"] or "",
        )
    return shown


def _figure(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _optional(value: float | None, shape: str) -> str:
    return "" if value is None else format(value, shape)
