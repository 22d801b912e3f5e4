"""The Pareto plot of a sweep: two objectives against each other, and the Pareto-optimal points."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import style
from kernbench.report.swept_axes import Swept, find_swept, title_of
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.pareto import answerable, pareto_front

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
    done = answerable(table).drop_nulls([objective.column for objective in objectives])
    if len(objectives) < 2 or done.is_empty():
        return style.discard(stem)
    with style.look():
        return style.save(_draw(done, objectives[:2], title), stem)


def _draw(done: polars.DataFrame, objectives: Sequence[Objective], title: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    up, across = objectives
    unit = style.Unit(up.column, done[up.column].unique().to_list())
    _draw_points(axes, done, up, across, unit)
    front = pareto_front(done, objectives).sort(across.column, descending=not across.least)
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
    figure.legend(title=choice.title if choice else None, loc="outside right center", alignment="left")
    style.head(figure, title)
    return figure


def _draw_points(axes: Axes, done: polars.DataFrame, up: Objective, across: Objective, unit: style.Unit) -> None:
    choice = _choice(done, across)
    shown = {"designs": done}
    if choice:
        shown = {style.shown(value): done.filter(done[choice.column] == value) for value in choice.in_order}
    ordered = choice is not None and choice.numeric
    for i, (name, colour) in enumerate(zip(shown, style.colours(len(shown), ordered=ordered), strict=True)):
        heights = (shown[name][up.column] / unit.size).to_numpy()
        marker = style.MARKERS[i % len(style.MARKERS)]
        small = 5 if len(done) < 300 else 3
        axes.plot(
            shown[name][across.column].to_numpy(),
            heights,
            marker,
            color=colour,
            markersize=small,
            label=name,
            rasterized=len(done) > MOST_DRAWN,
        )


def _choice(done: polars.DataFrame, across: Objective) -> Swept | None:
    """The axis for the colours of points: the first one with few values that is not the horizontal axis."""
    axes = (axis for axis in find_swept(done) if axis.column != across.column)
    return next((axis for axis in axes if len(axis.values) <= style.MOST_LINES), None)


def _better(objective: Objective) -> str:
    return "less is better" if objective.least else "more is better"
