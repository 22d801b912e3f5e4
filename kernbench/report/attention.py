"""Plots of the attention evaluation, from its table alone: throughput and latency against users."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.evaluation.attention import COLUMNS
from kernbench.report import style
from kernbench.report.evaluation_table import check_table

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
        throughput = _draw(table, "tokens_per_us", 1.0, "tokens a µs")
        latency = _draw(table, "latency_ns", 1e-3, "latency (µs)")
        return style.save(throughput, directory / "throughput") + style.save(latency, directory / "latency")


def _draw(table: polars.DataFrame, column: str, scale: float, label: str) -> Figure:
    """A panel for each phase, with a line for each length and number of key heads."""
    from matplotlib.figure import Figure

    phases = table["phase"].unique(maintain_order=True).to_list()
    figure = Figure(figsize=(1.5 + 5.2 * len(phases), 4.2), layout="constrained")
    for axes, phase in zip(figure.subplots(1, len(phases), squeeze=False)[0], phases, strict=True):
        shown = table.filter(table["phase"] == phase)
        _draw_lines(axes, shown, column, scale)
        style.scale(axes, "x", shown["users"].unique().to_list(), ticks=True)
        style.scale(axes, "y", (shown[column] * scale).to_list(), ticks=False)
        axes.set_title(phase)
        axes.set_xlabel("users")
        axes.set_ylabel(label)
        axes.legend(title="length, heads of keys", fontsize="small", alignment="left")
    first: dict[str, Any] = table.row(0, named=True)
    title = f"{first['dtype']} attention of {first['heads']} heads of {first['head_dim']} on {first['topology']}"
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_lines(axes: Axes, shown: polars.DataFrame, column: str, scale: float) -> None:
    lines = shown.select("length", "kv_heads").unique(maintain_order=True).rows()
    lengths = shown["length"].unique(maintain_order=True).to_list()
    groups = shown["kv_heads"].unique(maintain_order=True).to_list()
    for length, kv_heads in lines:
        points = shown.filter((shown["length"] == length) & (shown["kv_heads"] == kv_heads)).sort("users")
        at, of = lengths.index(length), groups.index(kv_heads)
        axes.plot(
            points["users"],
            points[column] * scale,
            color=style.CATEGORIES[at],
            marker=style.MARKERS[of],
            linestyle=("-", "--", ":", "-.")[of % 4],
            label=f"{length}, {kv_heads}",
        )
