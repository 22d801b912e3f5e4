"""The Pareto plot of a sweep: two objectives against each other, and the Pareto-optimal points.

Points that have only bounds are hollow, and the front goes through results alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.plot import axis_title, choose_layout, quantity_in, value_texts
from kernbench.report.figures.ticks import scale
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import find_senses, is_bounded, possible
from kernbench.sweep.results.derived_columns import LATENCY
from kernbench.sweep.results.error_bars import HIGH, LOW
from kernbench.sweep.results.pareto import pareto_front
from kernbench.sweep.results.swept_axes import Swept, find_swept

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_DRAWN = 2000  # points drawn as shapes of the SVG; more are rasterised


def plot_pareto(table: polars.DataFrame, objectives: Sequence[Objective], stem: Path, title: str) -> list[Path]:
    """Draw the second objective across and the first upwards, as `stem`.svg and `stem`.png; returns their paths.

    Without two objectives there are none. The bytes depend on the arguments alone. Errors: InputError if the
    directory cannot be written.
    """
    done = possible(table).drop_nulls([objective.column for objective in objectives])
    if len(objectives) < 2 or done.is_empty():
        return style.discard(stem)
    with style.look():
        return style.save(_draw(table, objectives[:2], title), stem)


def _draw(table: polars.DataFrame, objectives: Sequence[Objective], title: str) -> Figure:
    shown = possible(table)
    done = shown.drop_nulls([objective.column for objective in objectives])
    figure = style.new_figure(style.LOWEST)
    axes = figure.subplots()
    up, across = objectives
    swept = find_swept(shown)
    choice = _choose_colours(shown, across)
    _draw_points(axes, done, up, across, choice, swept)
    _draw_front(axes, pareto_front(table, objectives), up, across)
    of_grid = across.column in {axis.column for axis in swept}
    scale(axes, "x", quantity_in(done, across.column), done[across.column].unique().to_list(), swept=of_grid)
    upward = [up.column, *(name for name in (LOW, HIGH) if up.column == LATENCY.column and name in done.columns)]
    values = [value for name in upward for value in done[name].drop_nulls().unique().to_list()]
    scale(axes, "y", quantity_in(done, up.column), values, swept=False)
    axes.set_xlabel(f"{quantity_in(done, across.column).title}, {_better(across)}")
    axes.set_ylabel(f"{quantity_in(done, up.column).title}, {_better(up)}")
    handles = axes.get_legend_handles_labels()[0]
    names = [*(value_texts(choice) if choice else ["designs"]), "Pareto front"]
    if is_bounded(done).any():
        handles, names = [*handles, style.hollow_marker()], [*names, _bound_of(done, objectives)]
    style.legend(figure, handles, names, axis_title(choice) if choice else "")
    style.head(figure, title)
    return figure


def _draw_front(axes: Axes, front: polars.DataFrame, up: Objective, across: Objective) -> None:
    front = front.sort(across.column, descending=not across.least)
    axes.plot(
        front[across.column].to_list(),
        front[up.column].to_list(),
        drawstyle="steps-post",
        marker="o",
        markersize=8,
        markerfacecolor="none",
        color=colours.FRONT,
        linewidth=1.2,
        label="Pareto front",
    )


def _draw_points(
    axes: Axes,
    done: polars.DataFrame,
    up: Objective,
    across: Objective,
    choice: Swept | None,
    swept: Sequence[Swept],
) -> None:
    shown, shades = {"designs": done}, [colours.CATEGORIES[0]]
    if choice:
        texts = zip(value_texts(choice), choice.in_order, strict=True)
        shown = {style.shown(text): done.filter(done[choice.column] == value) for text, value in texts}
        shades = colours.of_axis(swept, choice)
    for i, ((name, of_value), colour) in enumerate(zip(shown.items(), shades, strict=True)):
        marker = style.MARKERS[i % len(style.MARKERS)]
        small = 4.5 if len(done) < 300 else 3
        bounded = is_bounded(of_value)
        for which, label, look in ((bounded, None, style.HOLLOW), (~bounded, name, {})):
            points = of_value.filter(which)
            if label or len(points):
                _draw_error_bars(axes, points, up, across, colour)
                axes.plot(
                    points[across.column].to_numpy(),
                    points[up.column].to_numpy(),
                    marker,
                    color=colour,
                    markersize=small,
                    label=label,
                    rasterized=len(done) > MOST_DRAWN,
                    **look,
                )


def _draw_error_bars(axes: Axes, points: polars.DataFrame, up: Objective, across: Objective, colour: str) -> None:
    """Draw the error bars of latencies along the axis that has them, of a table that has some."""
    if LOW not in points.columns or LATENCY.column not in (up.column, across.column) or points.is_empty():
        return
    latency = points[LATENCY.column]
    bars = np.stack([(latency - points[LOW]).fill_null(0), (points[HIGH] - latency).fill_null(0)])
    along: dict[str, Any] = {"yerr" if up.column == LATENCY.column else "xerr": bars}
    places = points[across.column].to_numpy(), points[up.column].to_numpy()
    axes.errorbar(
        *places, **along, fmt="none", ecolor=colour, elinewidth=1, zorder=1.4, rasterized=len(points) > MOST_DRAWN
    )


def _bound_of(done: polars.DataFrame, objectives: Sequence[Objective]) -> str:
    senses = {sense for objective in objectives for sense in find_senses(done, objective.column) if sense}
    return f"{senses.pop()} bound" if len(senses) == 1 else "bound"


def _choose_colours(shown: polars.DataFrame, across: Objective) -> Swept | None:
    """The axis for the colours of points: that of the lines of the line plot, else the first one with few values.

    It is not the horizontal axis.
    """
    layout = choose_layout(shown)
    axes = [axis for axis in ((layout.line if layout else None), *find_swept(shown)) if axis]
    few = (axis for axis in axes if axis.column != across.column and len(axis.values) <= style.MOST_LINES)
    return next(few, None)


def _better(objective: Objective) -> str:
    return "less is better" if objective.least else "more is better"
