"""The heat map of a sweep: an objective over the two axes with the largest effect on it.

A cell shows the best of its points that differ in other axes; the plot says so. If the best may be a point with bounds alone,
the cell is hollow and holds the bound, with ≥ or ≤.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.plot import axis_title, value_texts
from kernbench.report.figures.ticks import is_logarithmic, scale
from kernbench.report.tables.engineering import Quantity, quantity
from kernbench.report.tables.sweep_tables import MARKS
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.bounds import best_of_each, count_bounded, find_senses, possible
from kernbench.sweep.results.sensitivity import find_sensitivities
from kernbench.sweep.results.swept_axes import Swept, find_swept, short_name
from kernbench.sweep.row import LOWER

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_CELLS = 24  # along either axis; more are not readable
ROW = 0.36  # inches
DIGITS = 3  # of the figure of a cell
LARGEST_PT, SMALLEST_PT = 8.0, 5.0  # of the figures in cells; there are none if they had to be smaller
USED = 0.72  # of the page's width by cells
LETTER_EM = 0.64  # the width of a digit
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
    others = [
        swept[column] for column in dict.fromkeys([*first, *swept]) if swept.get(column) not in (None, across, up)
    ]
    with style.look():
        return style.save(_draw(best, objective, across, up, others, title), stem)


def _draw(
    best: polars.DataFrame, objective: Objective, across: Swept, up: Swept, others: list[Swept], title: str
) -> Figure:
    columns, rows = (list(axis.in_order) for axis in (across, up))
    cells, senses = _cells(best, objective, across, up, columns, rows)
    shown = quantity(objective.column, cells[~np.isnan(cells)].tolist())
    figure = style.new_figure(max(2.8, 1.6 + ROW * len(rows)))
    axes = figure.subplots()
    shades = colours.GOODNESS + ("_r" if objective.least else "")  # dark colours are worse values
    hollow = senses != None  # noqa: E711 - of each element
    image = axes.imshow(np.where(hollow, np.nan, cells), origin="lower", aspect="auto", cmap=shades, norm=_norm(cells))
    axes.set_facecolor(colours.EMPTY)
    remark = f"best over {', '.join(short_name(axis.column) for axis in others)}" if others else ""
    entries = _explain_cells(axes, cells, senses, image)
    style.legend(figure, list(entries.values()), list(entries), remark=remark, beside=False)
    for which, axis in (("x", across), ("y", up)):
        style.name_ticks(axes, which, value_texts(axis))
    axes.grid(visible=False)
    axes.set_xlabel(axis_title(across))
    axes.set_ylabel(axis_title(up))
    _write_cells(axes, cells, senses, image, shown)
    bar = figure.colorbar(image, ax=axes)
    scale(bar.ax, "y", shown, cells[~np.isnan(cells)].tolist(), swept=False)
    bar.set_label(f"{shown.title}, {'least' if objective.least else 'most'} is bright")
    style.head(figure, title)
    return figure


def _explain_cells(axes: Axes, cells: np.ndarray, senses: np.ndarray, image: Any) -> dict[str, Any]:
    """Frame the cells that hold bounds; returns the entries of a legend for these and for empty ones."""
    from matplotlib.patches import Patch

    hollow = senses != None  # noqa: E711 - of each element
    entries: dict[str, Any] = {}
    if hollow.any():
        _frame_bounds(axes, cells, hollow, image)
        entries["lower bound" if LOWER in senses else "upper bound"] = _frame(0, 0, colours.INK)
    if np.isnan(cells).any():
        entries["no result"] = Patch(facecolor=colours.EMPTY, edgecolor=colours.FAINT)
    return entries


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
    kind = LogNorm if is_logarithmic(known.tolist()) else Normalize
    return kind(known.min(), known.max())


def _write_cells(axes: Axes, cells: np.ndarray, senses: np.ndarray, image: Any, shown: Quantity) -> None:
    """Write the figure of each cell, if there is room for all of them."""
    texts = {
        at: _cell_text(senses, at, shown.show(value, DIGITS)) for at, value in np.ndenumerate(cells) if value == value
    }
    widest = max(map(len, texts.values()))
    size = min(LARGEST_PT, style.PAGE * 72 * USED / (cells.shape[1] * LETTER_EM * (widest + 1)))
    if size < SMALLEST_PT:
        return
    for (row, column), text in texts.items():
        red, green, blue, _ = image.cmap(image.norm(cells[row, column]))
        dark = senses[row, column] is None and 0.3 * red + 0.59 * green + 0.11 * blue < DARK
        ink = "white" if dark else "black"
        axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=size)


def _cell_text(senses: np.ndarray, at: tuple[int, ...], figure: str) -> str:
    sense: Any = senses[at]
    return MARKS[sense] + figure
