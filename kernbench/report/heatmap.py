"""The heat map of a sweep: an objective over the two axes with the largest effect on it.

A cell shows the best of its points that differ in other axes; the plot says so. If the best may be a point with bounds alone,
the cell is hollow and holds the bound, with ≥ or ≤.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.report import style
from kernbench.report.sensitivity import find_sensitivities
from kernbench.report.swept_axes import Swept, find_swept, short_name
from kernbench.report.table import MARKS
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import best_of_each, count_bounded, find_senses, possible
from kernbench.sweep.row import LOWER

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 24  # along either axis; more are not readable
DARK = 0.55  # of the colour scale, up to which text on it is white


def plot_heat(table: polars.DataFrame, objective: Objective, stem: Path, title: str) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths, none if fewer than two axes with few enough values vary.

    Errors: InputError if the directory cannot be written.
    """
    shown = possible(table)
    swept = {axis.column: axis for axis in find_swept(shown)}
    first = [one.axis.column for one in find_sensitivities(table, [objective])]
    if count_bounded(table):  # those that were simulated may be too few to differ in more axes
        first += [column for column in swept if column not in first]
    ranked = [swept[column] for column in first if column in swept and 1 < len(swept[column].values) <= MOST_CELLS]
    if len(ranked) < 2:
        return style.discard(stem)
    across, up = sorted(ranked[:2], key=lambda axis: not axis.numeric)
    best = best_of_each(shown, [across.column, up.column], objective)
    if best[objective.column].is_null().all():
        return style.discard(stem)
    others = [axis for axis in ranked if axis not in (across, up)]
    with style.look():
        return style.save(_draw(best, objective, across, up, others, title), stem)


def _draw(
    best: polars.DataFrame, objective: Objective, across: Swept, up: Swept, others: list[Swept], title: str
) -> Figure:
    from matplotlib.figure import Figure

    columns, rows = (list(axis.in_order) for axis in (across, up))
    cells, senses = _cells(best, objective, across, up, columns, rows)
    figure = Figure(
        figsize=(max(4.8, 2.4 + 0.72 * len(columns)), max(2.8, 1.5 + 0.42 * len(rows))), layout="constrained"
    )
    axes = figure.subplots()
    shades = "viridis_r" if objective.least else "viridis"  # dark colours are worse values
    hollow = senses != None  # noqa: E711 - of each element
    image = axes.imshow(np.where(hollow, np.nan, cells), origin="lower", aspect="auto", cmap=shades, norm=_norm(cells))
    if hollow.any():
        _frame_bounds(axes, cells, hollow, image)
        bound = "lower bound" if LOWER in senses else "upper bound"
        figure.legend([_frame(0, 0, style.INK)], [bound], loc="outside lower left")
    axes.set_xticks(range(len(columns)), [style.shown(value) for value in columns])
    axes.set_yticks(range(len(rows)), [style.shown(value) for value in rows])
    axes.grid(visible=False)
    axes.set_xlabel(across.title)
    axes.set_ylabel(up.title)
    _write_cells(axes, cells, senses, image)
    bar = figure.colorbar(image, ax=axes)
    style.scale(bar.ax, "y", cells[~np.isnan(cells)].tolist(), ticks=False)
    bar.set_label(objective.column)
    remark = f"; best over {', '.join(short_name(axis.column) for axis in others)}" if others else ""
    axes.set_title(f"{objective.column}, {'least' if objective.least else 'most'} is bright{remark}", fontsize="small")
    style.head(figure, title)
    return figure


def _cells(
    best: polars.DataFrame, objective: Objective, across: Swept, up: Swept, columns: list[Any], rows: list[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """float64[row, column] the figure of each cell, and object[row, column] what it bounds if it is a bound, else None."""
    cells = np.full((len(rows), len(columns)), np.nan)
    senses = np.full(cells.shape, None, object)
    figures = best.select(across.column, up.column, objective.column).iter_rows()
    for (x, y, found), sense in zip(figures, find_senses(best, objective.column), strict=True):
        if found is not None:
            at = rows.index(y), columns.index(x)
            cells[at], senses[at] = found, sense
    return cells, senses


def _frame_bounds(axes: Axes, cells: np.ndarray, hollow: np.ndarray, image: Any) -> None:
    for row, column in zip(*hollow.nonzero(), strict=True):
        axes.add_patch(_frame(column, row, image.cmap(image.norm(cells[row, column]))))


def _frame(x: float, y: float, colour: Any) -> Any:
    """The edge of a cell, in the colour that it would have."""
    from matplotlib.patches import Rectangle

    inset = 0.06
    return Rectangle(
        (x - 0.5 + inset, y - 0.5 + inset), 1 - 2 * inset, 1 - 2 * inset, fill=False, edgecolor=colour, linewidth=1.8
    )


def _norm(cells: np.ndarray) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    known = cells[~np.isnan(cells)]
    kind = LogNorm if style.is_logarithmic(known.tolist()) else Normalize
    return kind(known.min(), known.max())


def _write_cells(axes: Axes, cells: np.ndarray, senses: np.ndarray, image: Any) -> None:
    if cells.size > MOST_CELLS**2 // 3:
        return
    for (row, column), value in np.ndenumerate(cells):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        sense: Any = senses[row, column]
        ink = "white" if sense is None and 0.3 * red + 0.59 * green + 0.11 * blue < DARK else "black"
        axes.text(column, row, f"{MARKS[sense]}{value:,.4g}", ha="center", va="center", color=ink, fontsize="x-small")
