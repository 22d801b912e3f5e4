"""The Pareto plot of a sweep: two objectives against each other, and the Pareto-optimal points.

Points that have only bounds are hollow, and the front goes through results alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import style
from kernbench.report.swept_axes import Swept, find_swept, title_of
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import find_senses, is_bounded, possible
from kernbench.sweep.results.pareto import pareto_front

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
        return style.save(_draw(done, pareto_front(table, objectives[:2]), objectives[:2], title), stem)


def _draw(done: polars.DataFrame, front: polars.DataFrame, objectives: Sequence[Objective], title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    up, across = objectives
    unit = style.Unit(up.column, done[up.column].unique().to_list())
    _draw_points(axes, done, up, across, unit)
    front = front.sort(across.column, descending=not across.least)
    heights = (front[up.column] / unit.size).to_list()
    axes.plot(
        front[across.column].to_list(),
        heights,
        drawstyle="steps-post",
        marker="o",
        markersize=9,
        markerfacecolor="none",
        color=style.INK,
        linewidth=1.2,
        label="Pareto front",
    )
    values = done[across.column].unique().sort().to_list()
    style.scale(axes, "x", values, ticks=True)
    style.scale(axes, "y", (done[up.column].unique() / unit.size).to_list(), ticks=False)
    axes.set_xlabel(f"{title_of(across.column)}, {_better(across)}")
    axes.set_ylabel(f"{unit.title}, {_better(up)}")
    choice = _choice(done, across)
    handles, labels = axes.get_legend_handles_labels()
    if is_bounded(done).any():
        handles, labels = [*handles, style.hollow_marker()], [*labels, _bound_of(done, objectives)]
    heading = choice.title if choice else None
    figure.legend(handles, labels, title=heading, loc="outside right center", alignment="left")
    style.head(figure, title)
    return figure


def _draw_points(axes: Axes, done: polars.DataFrame, up: Objective, across: Objective, unit: style.Unit) -> None:
    choice = _choice(done, across)
    shown = {"designs": done}
    if choice:
        shown = {style.shown(value): done.filter(done[choice.column] == value) for value in choice.in_order}
    ordered = choice is not None and choice.numeric
    for i, (name, colour) in enumerate(zip(shown, style.colours(len(shown), ordered=ordered), strict=True)):
        marker = style.MARKERS[i % len(style.MARKERS)]
        small = 5 if len(done) < 300 else 3
        bounded = is_bounded(shown[name])
        for which, label, look in ((bounded, None, style.HOLLOW), (~bounded, name, {})):
            points = shown[name].filter(which)
            if label or len(points):
                axes.plot(
                    points[across.column].to_numpy(),
                    (points[up.column] / unit.size).to_numpy(),
                    marker,
                    color=colour,
                    markersize=small,
                    label=label,
                    rasterized=len(done) > MOST_DRAWN,
                    **look,
                )


def _bound_of(done: polars.DataFrame, objectives: Sequence[Objective]) -> str:
    senses = {sense for objective in objectives for sense in find_senses(done, objective.column) if sense}
    return f"{senses.pop()} bound" if len(senses) == 1 else "bound"


def _choice(done: polars.DataFrame, across: Objective) -> Swept | None:
    """The axis for the colours of points: the first one with few values that is not the horizontal axis."""
    axes = (axis for axis in find_swept(done) if axis.column != across.column)
    return next((axis for axis in axes if len(axis.values) <= style.MOST_LINES), None)


def _better(objective: Objective) -> str:
    return "less is better" if objective.least else "more is better"
