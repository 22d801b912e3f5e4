"""Plots of the GEMM evaluation, from its table alone: efficiency, kernel time, and utilisation of each stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.evaluation.gemm import COLUMNS
from kernbench.evaluation.stages import STAGES
from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.evaluation_table import check_table
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import named

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = "M × K × N"
BAR = 0.8  # of the distance between groups of bars
STAGES_ROW = 0.3  # inches, the height of a row of cells
DARK = 0.55  # of the colour scale, from which text on it is white


def plot_gemm(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `efficiency`, `time` and `stages` as SVG and PNG into a directory; returns their paths.

    The bytes depend on the table alone. Errors: InputError for a table that no run gives, or if the directory cannot be
    written.
    """
    check_table(table, COLUMNS, "GEMM", "gemm")
    figures = {"efficiency": _draw_efficiency, "time": _draw_time, "stages": _draw_stages}
    with style.look():
        return [path for name, draw in figures.items() for path in style.save(draw(table), directory / name)]


def _draw_efficiency(table: polars.DataFrame) -> Figure:
    figure, axes = _prepare(table)
    variants, palette = _by_variant(table), colours.of_names(table["variant"])
    for i, (variant, rows) in enumerate(variants.items()):
        places = [x + BAR * ((i + 0.5) / len(variants) - 0.5) for x in range(len(rows))]
        axes.bar(places, 100 * rows["efficiency"], BAR / len(variants), color=palette[variant], label=variant)
    axes.set_ylim(0, 100)
    axes.set_ylabel("of the matrix engines' peak (%)")
    _legend(figure)
    return figure


def _draw_time(table: polars.DataFrame) -> Figure:
    figure, axes = _prepare(table)
    palette = colours.of_names(table["variant"])
    shown = named("kernel time", "ns", table["pe_exec_ns"])
    for i, (variant, rows) in enumerate(_by_variant(table).items()):
        marker = style.MARKERS[i % len(style.MARKERS)]
        axes.plot(range(len(rows)), rows["pe_exec_ns"], marker, color=palette[variant], label=variant)
    scale(axes, "y", shown, table["pe_exec_ns"].to_list(), swept=False)
    axes.set_ylabel(shown.title)
    _legend(figure)
    return figure


def _prepare(table: polars.DataFrame) -> tuple[Figure, Axes]:
    """An empty figure with a place for each shape."""
    figure = style.new_figure(style.LOWEST)
    axes = figure.subplots()
    style.name_ticks(axes, "x", _shapes(table))
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(AXES)
    _title(figure, table)
    return figure, axes


def _legend(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    style.legend(figure, handles, labels, "operands A_B")


def _draw_stages(table: polars.DataFrame) -> Figure:
    """A panel for each variant, with a cell for each shape and stage: the busy share of the kernel's time."""
    variants, shapes = _by_variant(table), _shapes(table)
    height = STAGES_ROW * len(shapes) + 0.9
    figure, panels = style.new_panels(len(variants), most=2, height=height, sharey=True)
    for axes, (variant, rows) in zip(panels, variants.items(), strict=True):
        busy = [[100 * row[f"{stage}_busy_ns"] / row["pe_exec_ns"] for stage in STAGES] for row in rows.to_dicts()]
        _draw_cells(axes, busy)
        style.panel_title(axes, variant, 2)
        style.name_ticks(axes, "x", [stage.replace("_", " ") for stage in STAGES])
    for axes in panels[::2]:
        style.name_ticks(axes, "y", shapes)
        axes.set_ylabel(AXES)
    _title(figure, table, "busy, % of kernel time")
    return figure


def _draw_cells(axes: Axes, percent: list[list[float]]) -> None:
    axes.imshow(percent, vmin=0, vmax=100, cmap="Blues", aspect="auto")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for y, row in enumerate(percent):
        for x, value in enumerate(row):
            colour = "white" if value > 100 * DARK else colours.INK
            axes.text(x, y, f"{value:.0f}", ha="center", va="center", color=colour, fontsize="small")


def _by_variant(table: polars.DataFrame) -> dict[str, polars.DataFrame]:
    import polars

    variants = table["variant"].unique(maintain_order=True)
    return {variant: table.filter(polars.col("variant") == variant) for variant in variants}


def _shapes(table: polars.DataFrame) -> list[str]:
    shapes = table.select("M", "K", "N").unique(maintain_order=True)
    return [f"{m} × {k} × {n}" for m, k, n in shapes.iter_rows()]


def _title(figure: Figure, table: polars.DataFrame, what: str = "") -> None:
    first: dict[str, Any] = table.row(0, named=True)
    most: Any = table["pes"].max()
    pes = "one PE" if most == 1 else f"up to {most} PEs"
    text = ", ".join([f"{first['dtype']} GEMM on {pes} of {first['topology']}", *([what] if what else [])])
    style.head(figure, text)
