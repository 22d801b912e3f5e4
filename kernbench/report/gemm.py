"""Plots of the GEMM evaluation, from its table alone: efficiency, kernel time, and utilisation of each stage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.evaluation.gemm import COLUMNS
from kernbench.evaluation.stages import STAGES
from kernbench.report import style
from kernbench.report.evaluation_table import check_table

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXES = "M × K × N"
BAR = 0.8  # of the distance between groups of bars
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
    variants = _by_variant(table)
    for i, (variant, rows) in enumerate(variants.items()):
        places = [x + BAR * ((i + 0.5) / len(variants) - 0.5) for x in range(len(rows))]
        axes.bar(places, 100 * rows["efficiency"], BAR / len(variants), color=style.CATEGORIES[i], label=variant)
    axes.set_ylim(0, 100)
    axes.set_ylabel("of the matrix engines' peak (%)")
    _legend(figure)
    return figure


def _draw_time(table: polars.DataFrame) -> Figure:
    figure, axes = _prepare(table)
    unit, nanoseconds = style.time_unit(float(table["pe_exec_ns"].max()))  # pyright: ignore[reportArgumentType]
    for i, (variant, rows) in enumerate(_by_variant(table).items()):
        times = rows["pe_exec_ns"] / nanoseconds
        axes.plot(range(len(rows)), times, style.MARKERS[i], color=style.CATEGORIES[i], label=variant)
    style.scale(axes, "y", (table["pe_exec_ns"] / nanoseconds).to_list(), ticks=False)
    axes.set_ylabel(f"kernel time ({unit})")
    _legend(figure)
    return figure


def _prepare(table: polars.DataFrame) -> tuple[Figure, Axes]:
    """An empty figure with a place for each shape."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    shapes = _shapes(table)
    axes.set_xticks(range(len(shapes)), shapes, rotation=30, ha="right", rotation_mode="anchor")
    axes.tick_params(axis="x", length=0)
    axes.grid(visible=False, axis="x")
    axes.set_xlabel(AXES)
    _title(figure, table)
    return figure, axes


def _legend(figure: Figure) -> None:
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, title="operands A_B", loc="outside right center", alignment="left")


def _draw_stages(table: polars.DataFrame) -> Figure:
    """A panel for each variant, with a cell for each shape and stage: the busy share of the kernel's time."""
    from matplotlib.figure import Figure

    variants = _by_variant(table)
    figure = Figure(figsize=(2.2 + 3.2 * len(variants), 4.2), layout="constrained")
    panels = figure.subplots(1, len(variants), sharey=True, squeeze=False)[0]
    for axes, (variant, rows) in zip(panels, variants.items(), strict=True):
        busy = [[100 * row[f"{stage}_busy_ns"] / row["pe_exec_ns"] for stage in STAGES] for row in rows.to_dicts()]
        _draw_cells(axes, busy)
        axes.set_title(variant)
        axes.set_xticks(
            range(len(STAGES)),
            [stage.replace("_", " ") for stage in STAGES],
            rotation=45,
            ha="right",
            rotation_mode="anchor",
        )
    shapes = _shapes(table)
    panels[0].set_yticks(range(len(shapes)), shapes)
    panels[0].set_ylabel(AXES)
    _title(figure, table, "busy, % of kernel time")
    return figure


def _draw_cells(axes: Axes, percent: list[list[float]]) -> None:
    axes.imshow(percent, vmin=0, vmax=100, cmap="Blues", aspect="auto")
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for y, row in enumerate(percent):
        for x, value in enumerate(row):
            colour = "white" if value > 100 * DARK else style.INK
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
    figure.suptitle(text, x=0.01, ha="left", fontweight="bold")
