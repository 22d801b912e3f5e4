"""Plots of the attention evaluation, from its table alone: throughput and latency against users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.evaluation.attention import COLUMNS
from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.evaluation_table import check_table
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import PLAIN, Quantity, named, quantity

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_attention(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `throughput` and `latency` as SVG and PNG into a directory; returns their paths.

    The bytes depend on the table alone. Errors: InputError for a table that no run gives, or if the directory cannot be
    written.
    """
    check_table(table, COLUMNS, "attention", "attention")
    with style.look():
        throughput = _draw(table, "tokens_per_us", named("tokens a µs", PLAIN, table["tokens_per_us"]))
        latency = _draw(table, "latency_ns", quantity("latency_ns", table["latency_ns"]))
        return style.save(throughput, directory / "throughput") + style.save(latency, directory / "latency")


def _draw(table: polars.DataFrame, column: str, up: Quantity) -> Figure:
    """A panel for each phase, with a line for each length and number of key heads."""
    phases = table["phase"].unique(maintain_order=True).to_list()
    figure, grid = style.new_panels(len(phases), height=3.4)
    handles: dict[str, Any] = {}
    for axes, phase in zip(grid, phases, strict=True):
        shown = table.filter(table["phase"] == phase)
        _draw_lines(axes, shown, column, table)
        users = shown["users"].unique().to_list()
        scale(axes, "x", named("users", PLAIN, users), users, swept=True)
        scale(axes, "y", up, shown[column].to_list(), swept=False)
        style.panel_title(axes, phase, len(phases))
        axes.set_xlabel("users")
        axes.set_ylabel(up.title)
        handles |= {label: handle for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
    style.legend(figure, list(handles.values()), list(handles), "length, heads of keys", beside=False)
    first: dict[str, Any] = table.row(0, named=True)
    style.head(
        figure, f"{first['dtype']} attention of {first['heads']} heads of {first['head_dim']} on {first['topology']}"
    )
    return figure


def _draw_lines(axes: Axes, shown: polars.DataFrame, column: str, table: polars.DataFrame) -> None:
    """The lines of a phase; a length has one colour in all phases, a number of key heads one marker and stroke."""
    lines = shown.select("length", "kv_heads").unique(maintain_order=True).rows()
    palette = colours.of_names(str(length) for length in table["length"])
    groups = table["kv_heads"].unique(maintain_order=True).to_list()
    for length, kv_heads in lines:
        points = shown.filter((shown["length"] == length) & (shown["kv_heads"] == kv_heads)).sort("users")
        of = groups.index(kv_heads)
        axes.plot(
            points["users"],
            points[column],
            color=palette[str(length)],
            marker=style.MARKERS[of % len(style.MARKERS)],
            markersize=4.5,
            linestyle=("-", "--", ":", "-.")[of % 4],
            label=f"{length:,}, {kv_heads}",
        )
