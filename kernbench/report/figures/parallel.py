"""Parallel coordinates of a sweep: every point is a line through its parameters and results; the front is highlighted.

The axes lie below each other, so that the figure of many parameters is higher, not wider.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.characters import visible
from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.label_fitting import shorten, tell_in_full
from kernbench.report.figures.plot import axis_title, quantity_in, quantity_of, value_texts
from kernbench.report.figures.ticks import MOST_TICKS, find_ticks, is_logarithmic, tick_texts
from kernbench.report.tables.engineering import Quantity
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import answerable, count_bounded, possible
from kernbench.sweep.results.pareto import pareto_front
from kernbench.sweep.results.swept_axes import Swept, find_swept, restrict
from kernbench.text import plural

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LINES = 2000
RAIL = 0.6  # inches from one axis to the next
LETTERS = 80  # of the texts of ticks along an axis
TITLE_LETTERS = 26  # of an axis


def plot_parallel(table: polars.DataFrame, objectives: Sequence[Objective], stem: Path, title: str) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths, none if fewer than two axes vary.

    Of very many points a sample is drawn, evenly from best to worst; points that have only bounds are left out. Errors:
    InputError if the directory cannot be written.
    """
    done, bounded = answerable(table), count_bounded(table)
    axes = restrict(find_swept(possible(table)), done) if bounded else find_swept(done)
    swept = [axis.column for axis in axes]
    known = done.drop_nulls([objective.column for objective in objectives])
    if len(swept) < 2 or len(known) < 2:
        return style.discard(stem)
    with style.look():
        return style.save(_draw(known, axes, objectives, bounded, title), stem)


def _draw(
    done: polars.DataFrame, axes: list[Swept], objectives: Sequence[Objective], bounded: int, title: str
) -> Figure:
    columns = [*(axis.column for axis in axes), *(o.column for o in objectives)]
    first = objectives[0]
    ranked = done.select(*dict.fromkeys(columns), "key").sort(
        first.column, descending=first.least, maintain_order=True
    )  # the best are drawn last
    rails = {axis.column: _rail_of_axis(axis, ranked[axis.column]) for axis in axes}
    rails |= {o.column: _rail_of_result(ranked, o.column) for o in objectives if o.column not in rails}
    figure = style.new_figure(1.2 + RAIL * len(rails))
    plane = figure.subplots()
    _draw_lines(plane, ranked, np.column_stack([rail.places for rail in rails.values()]), done, objectives)
    _label(plane, list(rails.values()))
    name = "the Pareto front" if len(objectives) > 1 else "the best"
    left_out = f"; {plural(bounded, 'point')} with bounds alone left out" if bounded else ""
    style.note(figure, f"black: {name}; of the others bright is good in {first.column}{left_out}")
    style.head(figure, title)
    return figure


def _draw_lines(
    plane: Axes, ranked: polars.DataFrame, places: np.ndarray, done: polars.DataFrame, objectives: Sequence[Objective]
) -> None:
    """Draw a line through the places (float64[point, axis]) of each point, and the front on top."""
    import matplotlib
    from matplotlib.collections import LineCollection

    down = -np.arange(places.shape[1])
    picked = np.unique(np.linspace(0, len(ranked) - 1, min(len(ranked), MOST_LINES)).astype(int))
    lines = [np.column_stack([places[i], down]) for i in picked]
    shades = matplotlib.colormaps[colours.GOODNESS](np.linspace(0.15, 0.95, len(picked)))
    thin = 0.5 if len(picked) > 200 else 1.0
    plane.add_collection(LineCollection(lines, colors=shades, linewidths=thin, alpha=0.35 if len(picked) > 50 else 0.6))
    front = pareto_front(done, objectives)["key"]
    best = places[ranked["key"].is_in(front.to_list()).to_numpy()]
    drawn = [np.column_stack([line, down]) for line in best]
    plane.add_collection(LineCollection(drawn, colors=colours.FRONT, linewidths=1.6, zorder=3))


@dataclass(frozen=True, slots=True)
class _Rail:
    """One of the parallel axes, from left to right: its title, float64[point] places 0 … 1, and the texts at its ticks."""

    title: str
    places: np.ndarray
    ticks: list[tuple[float, str]]


def _rail_of_axis(axis: Swept, column: polars.Series) -> _Rail:
    """Of few values, or names: they stand equally far apart."""
    if axis.numeric and len(axis.values) > MOST_TICKS:
        return _rail(axis_title(axis), quantity_of(axis), column, swept=True)
    last = max(len(axis.values) - 1, 1)
    at = {value: i / last for i, value in enumerate(axis.in_order)}
    most = len(axis.values) if len(axis.values) <= MOST_TICKS else 0
    texts = list(zip(at.values(), value_texts(axis), strict=True))
    return _Rail(axis_title(axis), np.array([at[value] for value in column]), texts if most else [texts[0], texts[-1]])


def _rail_of_result(table: polars.DataFrame, column: str) -> _Rail:
    shown = quantity_in(table, column)
    return _rail(shown.title, shown, table[column], swept=False)


def _rail(title: str, shown: Quantity, column: polars.Series, *, swept: bool) -> _Rail:
    values = column.cast(float).to_numpy()
    ladder = column.unique().to_list()
    logarithmic = is_logarithmic(ladder)
    low, high = (_on(end, logarithmic=logarithmic) for end in (min(ladder), max(ladder)))

    def place(value: Any) -> Any:
        return (_on(value, logarithmic=logarithmic) - low) / (high - low) if high > low else value * 0 + 0.5

    ticks = [tick for tick in find_ticks(shown, ladder, swept=swept) if min(ladder) <= tick <= max(ladder)]
    return _Rail(
        title, place(values), [(place(tick), text) for tick, text in zip(ticks, tick_texts(shown, ticks), strict=True)]
    )


def _on(value: Any, *, logarithmic: bool) -> Any:
    return np.log(value) if logarithmic else value


def _label(plane: Axes, rails: Sequence[_Rail]) -> None:
    back = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    for row, rail in enumerate(rails):
        plane.axhline(-row, color=colours.INK, linewidth=0.8)
        letters = int(LETTERS / max(len(rail.ticks), 1))
        for place, text in _apart(rail.ticks):
            drawn = plane.text(
                place, -row - 0.08, shorten(style.shown(text), letters), fontsize="x-small", ha="center", va="top"
            )
            drawn.set_bbox(back)
            drawn.set_zorder(4)
            plane.plot([place], [-row], "|", color=colours.INK, markersize=5)
            tell_in_full([drawn], [visible(text)])
    titles = [style.drawable(rail.title) for rail in rails]
    plane.set_yticks([-row for row in range(len(rails))], [shorten(title, TITLE_LETTERS) for title in titles])
    tell_in_full(plane.get_yticklabels(), titles)
    plane.set_xticks([])
    plane.set_xlim(-0.06, 1.06)
    plane.set_ylim(0.6 - len(rails) - 0.1, 0.15)
    plane.tick_params(length=0)
    plane.grid(visible=False)
    for side in ("left", "bottom"):
        plane.spines[side].set_visible(False)


def _apart(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """The ticks whose texts have room beside each other."""
    kept: list[tuple[float, str]] = []
    for place, text in ticks:
        if not kept or (place - kept[-1][0]) * LETTERS >= (len(text) + len(kept[-1][1])) / 2 + 1 or len(text) > 8:
            kept.append((place, text))
    return kept
