"""Parallel coordinates of a sweep: every point is a line through its parameters and results; the front is highlighted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.report import style
from kernbench.report.swept_axes import find_swept, restrict, short_name
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import answerable, count_bounded, possible
from kernbench.sweep.results.pareto import pareto_front
from kernbench.text import plural

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure

MOST_LINES = 2000
MOST_TICKS = 8


def plot_parallel(table: polars.DataFrame, objectives: Sequence[Objective], stem: Path, title: str) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths, none if fewer than two axes vary.

    Of very many points a sample is drawn, evenly from best to worst; points that have only bounds are left out. Errors:
    InputError if the directory cannot be written.
    """
    done, bounded = answerable(table), count_bounded(table)
    axes = restrict(find_swept(possible(table)), done) if bounded else find_swept(done)
    swept = [axis.column for axis in axes]
    columns = list(dict.fromkeys([*swept, *(objective.column for objective in objectives)]))
    known = done.drop_nulls([objective.column for objective in objectives])
    if len(swept) < 2 or len(known) < 2:
        return style.discard(stem)
    with style.look():
        return style.save(_draw(known, columns, objectives, bounded, title), stem)


def _draw(
    done: polars.DataFrame, columns: list[str], objectives: Sequence[Objective], bounded: int, title: str
) -> Figure:
    import matplotlib
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    first = objectives[0]
    ranked = done.select(*columns, "key").sort(
        first.column, descending=first.least, maintain_order=True
    )  # the best are drawn last
    picked = np.unique(np.linspace(0, len(ranked) - 1, min(len(ranked), MOST_LINES)).astype(int))
    scales = [_Scale(ranked[column]) for column in columns]
    heights = np.column_stack([scale.heights for scale in scales])
    figure = Figure(figsize=(max(6.4, 1.6 * len(columns)), 4.2), layout="constrained")
    axes = figure.subplots()
    lines = [np.column_stack([np.arange(len(columns)), heights[i]]) for i in picked]
    shades = matplotlib.colormaps["viridis"](np.linspace(0.15, 0.95, len(picked)))
    thin = 0.5 if len(picked) > 200 else 1.0
    axes.add_collection(LineCollection(lines, colors=shades, linewidths=thin, alpha=0.35 if len(picked) > 50 else 0.6))
    front = pareto_front(done, objectives)["key"]
    best = heights[ranked["key"].is_in(front.to_list()).to_numpy()]
    drawn = [np.column_stack([np.arange(len(columns)), line]) for line in best]
    axes.add_collection(LineCollection(drawn, colors=style.CATEGORIES[1], linewidths=1.6, zorder=3))
    _label(axes, columns, scales)
    name = "Pareto front" if len(objectives) > 1 else "best"
    left_out = f"; {plural(bounded, 'point')} with bounds alone left out" if bounded else ""
    axes.set_title(f"orange: {name}; of the others bright is good in {first.column}{left_out}", fontsize="small")
    style.head(figure, title)
    return figure


class _Scale:
    """The positions of the values of one column, 0 … 1, and the values that get labels."""

    def __init__(self, column: polars.Series) -> None:
        numeric = column.dtype.is_numeric()
        ladder = column.unique().sort().to_list() if numeric else column.unique(maintain_order=True).to_list()
        if numeric and len(ladder) > MOST_TICKS:
            logarithmic = style.is_logarithmic(ladder)
            ends = np.log(ladder[0]) if logarithmic else ladder[0], np.log(ladder[-1]) if logarithmic else ladder[-1]
            places = column.cast(float).to_numpy()
            self.heights = ((np.log(places) if logarithmic else places) - ends[0]) / (ends[1] - ends[0])
            self.ticks = {i / 4: self._at(ends, i / 4, logarithmic) for i in range(5)}
        else:
            last = max(len(ladder) - 1, 1)
            place = {value: i / last for i, value in enumerate(ladder)}
            self.heights = np.array([place[value] for value in column])
            self.ticks = {at: style.shown(value) for value, at in list(place.items())[: MOST_TICKS * 2]}

    @staticmethod
    def _at(ends: tuple[Any, Any], share: float, logarithmic: bool) -> str:
        value = ends[0] + (ends[1] - ends[0]) * share
        return style.shown(float(f"{np.exp(value) if logarithmic else value:.3g}"))


def _label(axes: Any, columns: list[str], scales: list[_Scale]) -> None:
    for x, scale in enumerate(scales):
        axes.axvline(x, color=style.INK, linewidth=0.8)
        for height, text in scale.ticks.items():
            back = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
            axes.text(x + 0.03, height, text, fontsize="x-small", va="center", bbox=back, zorder=4)
    names = [style.drawable(short_name(column)).replace(".", ".\n") for column in columns]
    axes.set_xticks(range(len(columns)), names)
    axes.set_yticks([])
    axes.set_xlim(-0.1, len(columns) - 0.7)
    axes.set_ylim(-0.04, 1.04)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
