"""The line plot of a sweep: latency against the first axis, a line for each value of the second, a panel for each of the third.

The first axis is the first numeric one; without one, values are side by side. Axes beyond the third, and axes with too
many values, are not drawn: of points that differ only in them the fastest is shown, and the plot says so. Lower bounds are
drawn hollow and joined by dots; so is the fastest of some points if it may be one that has only a bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.ticks import scale, tick_texts
from kernbench.report.tables.engineering import Quantity, quantity
from kernbench.sweep.results.bounds import best_of_each, is_bounded, possible
from kernbench.sweep.results.derived_columns import LATENCY
from kernbench.sweep.results.error_bars import HIGH, LOW
from kernbench.sweep.results.swept_axes import Swept, find_swept, short_name

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def quantity_of(axis: Swept) -> Quantity:
    """How to show the values of a numeric axis."""
    return quantity(axis.column, axis.values)


def quantity_in(table: polars.DataFrame, column: str) -> Quantity:
    """How to show the values of a numeric column of a table."""
    return quantity(column, table[column].drop_nulls())


def axis_title(axis: Swept) -> str:
    """Its name with the unit of its values, and the columns that change with it."""
    title = quantity_of(axis).title if axis.numeric else short_name(axis.column)
    together = f" (with {', '.join(map(short_name, axis.companions))})" if axis.companions else ""
    return f"{title}{together}"


def value_texts(axis: Swept) -> list[str]:
    """The texts of its values, in order."""
    if not axis.numeric:
        return [str(value) for value in axis.in_order]
    return tick_texts(quantity_of(axis), axis.in_order)


def setting_text(axis: Swept, value: Any) -> str:
    """One value with the name of its axis, `N = 4` or `sram.bytes = 64 KiB`."""
    text = value_texts(axis)[axis.in_order.index(value)]
    unit = quantity_of(axis).common if axis.numeric else None
    return f"{short_name(axis.column)} = {text}{f' {unit}' if unit else ''}"


MOST_PANELS = 12


@dataclass(frozen=True, slots=True)
class Layout:
    """The role of each axis in the plot."""

    across: Swept
    line: Swept | None
    panel: Swept | None
    folded: tuple[Swept, ...]  # axes that are not drawn


def choose_layout(table: polars.DataFrame) -> Layout | None:
    """The roles of the axes of a table; None if nothing varies."""
    swept = find_swept(table)
    if not swept:
        return None
    across = next((axis for axis in swept if axis.numeric), swept[0])
    others = [axis for axis in swept if axis is not across]
    line = next((axis for axis in others if len(axis.values) <= style.MOST_LINES), None)
    panel = next((axis for axis in others if axis is not line and len(axis.values) <= MOST_PANELS), None)
    return Layout(across, line, panel, tuple(axis for axis in others if axis not in (line, panel)))


def plot_latency(table: polars.DataFrame, stem: Path, title: str) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths, none if there is nothing to draw.

    The bytes depend on the table and the title alone. Errors: InputError if the directory cannot be written.
    """
    done = possible(table)
    layout = choose_layout(done)
    if layout is None:
        return style.discard(stem)
    with style.look():
        return style.save(_draw(done, layout, title), stem)


def _draw(done: polars.DataFrame, layout: Layout, title: str) -> Figure:
    import polars

    panels = layout.panel.in_order if layout.panel else (None,)
    figure, grid = style.new_panels(len(panels), sharex=True, sharey=True)
    for axes, value in zip(grid, panels, strict=True):
        points = done
        if layout.panel:
            points = done.filter(polars.col(layout.panel.column) == value)
            style.panel_title(axes, setting_text(layout.panel, value), min(len(panels), style.PANELS))
        _draw_lines(axes, points, layout, find_swept(done))
    _label(figure, grid, done, layout)
    style.head(figure, title)
    return figure


def _draw_lines(axes: Axes, shown: polars.DataFrame, layout: Layout, swept: Sequence[Swept]) -> None:
    import polars

    line = layout.line
    order = line.in_order if line else (None,)
    shades = colours.of_axis(swept, line) if line else [colours.CATEGORIES[0]]
    names = value_texts(line) if line else [""]
    for i, value in enumerate(order):
        points = shown.filter(polars.col(line.column) == value) if line else shown
        best = best_of_each(points, [layout.across.column], LATENCY)
        if layout.across.numeric:
            best = best.sort(layout.across.column)
        bounded = is_bounded(best)
        across = [_place(layout.across, x) for x in best[layout.across.column]]
        latency = best["latency_ns"].cast(float)
        if LOW in best.columns:
            ends = best.select(polars.col("latency_ns") - polars.col(LOW), polars.col(HIGH) - polars.col("latency_ns"))
            bars = ends.fill_null(0).to_numpy().T
            axes.errorbar(across, latency.to_list(), bars, fmt="none", ecolor=shades[i], elinewidth=1.2, zorder=1.4)
        look: dict[str, Any] = {
            "color": shades[i],
            "marker": style.MARKERS[i % len(style.MARKERS)],
            "markersize": 4.5,
        }
        if bounded.any():
            dots = ":" if layout.across.numeric else ""
            axes.plot(across, latency.to_list(), color=shades[i], linestyle=dots, linewidth=1, zorder=1.5)
            hollow = [figure if bound else None for figure, bound in zip(latency, bounded, strict=True)]
            axes.plot(across, _gaps(hollow), linestyle="", **look, **style.HOLLOW)
        simulated = [None if bound else figure for figure, bound in zip(latency, bounded, strict=True)]
        axes.plot(
            across,
            _gaps(simulated),
            linestyle="-" if layout.across.numeric else "",
            label=style.shown(names[i]),
            **look,
        )


def _gaps(figures: list[float | None]) -> list[float]:
    """With nan, which is not drawn, for None."""
    return [nan if figure is None else figure for figure in figures]


def _label(figure: Figure, grid: Sequence[Axes], done: polars.DataFrame, layout: Layout) -> None:
    axes, across = grid[0], layout.across
    if across.numeric:
        scale(axes, "x", quantity_of(across), across.values, swept=True)
    else:
        style.name_ticks(axes, "x", across.values)
    drawn = [
        y for panel in grid for line in panel.lines for y in np.asarray(line.get_ydata(), float).tolist() if y == y
    ]
    drawn += [end for name in (LOW, HIGH) if name in done.columns for end in done[name].drop_nulls().to_list()]
    shown = quantity("latency_ns", drawn)
    scale(axes, "y", shown, drawn, swept=False)
    style.label_across(grid, axis_title(across))
    figure.supylabel(shown.title, fontsize="medium")
    handles, names = (axes.get_legend_handles_labels()[0], value_texts(layout.line)) if layout.line else ([], [])
    if is_bounded(done).any():
        handles, names = [*handles, style.hollow_marker()], [*names, "lower bound"]
    remark = f"the fastest over {', '.join(short_name(axis.column) for axis in layout.folded)}" if layout.folded else ""
    style.legend(figure, handles, names, axis_title(layout.line) if layout.line else "", remark=remark)


def _place(across: Swept, value: Any) -> float:
    return value if across.numeric else across.values.index(value)
