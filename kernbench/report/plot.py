"""The line plot of a sweep: latency against the first axis, a line for each value of the second, a panel for each of the third.

The first axis is the first numeric one; without one, values are side by side. Axes beyond the third, and axes with too
many values, are not drawn: of points that differ only in them the fastest is shown, and the plot says so. Lower bounds are
drawn hollow and joined by dots; so is the fastest of some points if it may be one that has only a bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.report import style
from kernbench.report.swept_axes import Swept, find_swept, short_name
from kernbench.sweep.results.bounds import best_of_each, is_bounded, possible
from kernbench.sweep.results.derived_columns import LATENCY

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 6


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
    from matplotlib.figure import Figure

    panels = layout.panel.in_order if layout.panel else (None,)
    columns = len(panels) if len(panels) <= 3 else -(-len(panels) // 2)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(2.2 + 4.2 * columns, 0.8 + 3.4 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    unit, nanoseconds = style.time_unit(float(done["latency_ns"].max()))  # pyright: ignore[reportArgumentType]
    for axes, value in zip(grid.flat, panels, strict=False):
        shown = done
        if layout.panel:
            shown = done.filter(polars.col(layout.panel.column) == value)
            axes.set_title(f"{short_name(layout.panel.column)} = {style.shown(value)}")
        _draw_lines(axes, shown, layout, nanoseconds)
    for i in range(len(panels), grid.size):
        grid.flat[i].remove()
        grid.flat[i - columns].tick_params(labelbottom=True)
    _label(figure, grid, done, layout, unit, nanoseconds)
    style.head(figure, title)
    return figure


def _draw_lines(axes: Axes, shown: polars.DataFrame, layout: Layout, nanoseconds: float) -> None:
    import polars

    line = layout.line
    ordered = line is not None and line.numeric
    order = line.in_order if line else (None,)
    shades = style.colours(len(order), ordered=ordered)
    for i, value in enumerate(order):
        points = shown.filter(polars.col(line.column) == value) if line else shown
        best = best_of_each(points, [layout.across.column], LATENCY)
        if layout.across.numeric:
            best = best.sort(layout.across.column)
        bounded = is_bounded(best)
        across = [_place(layout.across, x) for x in best[layout.across.column]]
        latency = best["latency_ns"].cast(float) / nanoseconds
        look: dict[str, Any] = {
            "color": shades[i],
            "marker": style.MARKERS[i % len(style.MARKERS)],
            "markersize": 5,
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
            label=style.shown(value),
            **look,
        )


def _gaps(figures: list[float | None]) -> list[float]:
    """With nan, which is not drawn, for None."""
    return [nan if figure is None else figure for figure in figures]


def _label(figure: Figure, grid: Any, done: polars.DataFrame, layout: Layout, unit: str, nanoseconds: float) -> None:
    axes = grid.flat[0]
    if layout.across.numeric:
        style.scale(axes, "x", layout.across.values, ticks=True)
    else:
        axes.set_xticks(range(len(layout.across.values)), [style.shown(value) for value in layout.across.values])
    style.scale(axes, "y", (done["latency_ns"] / nanoseconds).to_list(), ticks=False)
    figure.supxlabel(layout.across.title, fontsize="medium")
    figure.supylabel(f"latency ({unit})", fontsize="medium")
    handles, labels = axes.get_legend_handles_labels() if layout.line else ([], [])
    if is_bounded(done).any():
        handles, labels = [*handles, style.hollow_marker()], [*labels, "lower bound"]
    if handles:
        title = layout.line.title if layout.line else None
        figure.legend(handles, labels, title=title, loc="outside right center", alignment="left")
    if layout.folded:
        names = ", ".join(short_name(axis.column) for axis in layout.folded)
        figure.text(1, 0, f"the fastest over {names}", ha="right", fontsize="small")


def _place(across: Swept, value: Any) -> float:
    return value if across.numeric else across.values.index(value)
