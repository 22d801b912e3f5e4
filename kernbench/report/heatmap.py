"""The heat map of a sweep: an objective over the two axes with the largest effect on it.

A cell shows the best of its points that differ in other axes; the plot says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.report import style
from kernbench.report.sensitivity import find_sensitivities
from kernbench.report.swept_axes import Swept, short_name
from kernbench.sweep.grid.grid import Objective
from kernbench.sweep.results.pareto import answerable

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
    ranked = [one.axis for one in find_sensitivities(table, [objective]) if 1 < len(one.axis.values) <= MOST_CELLS]
    if len(ranked) < 2:
        return style.discard(stem)
    across, up = sorted(ranked[:2], key=lambda axis: not axis.numeric)
    others = [axis for axis in ranked if axis not in (across, up)]
    with style.look():
        return style.save(_draw(answerable(table), objective, across, up, others, title), stem)


def _draw(
    done: polars.DataFrame, objective: Objective, across: Swept, up: Swept, others: list[Swept], title: str
) -> Figure:
    from matplotlib.figure import Figure

    columns, rows = (list(axis.in_order) for axis in (across, up))
    cells = _best(done, objective, across, up, columns, rows)
    figure = Figure(
        figsize=(max(4.8, 2.4 + 0.72 * len(columns)), max(2.8, 1.5 + 0.42 * len(rows))), layout="constrained"
    )
    axes = figure.subplots()
    shades = "viridis_r" if objective.least else "viridis"  # dark colours are worse values
    image = axes.imshow(cells, origin="lower", aspect="auto", cmap=shades, norm=_norm(cells))
    axes.set_xticks(range(len(columns)), [style.shown(value) for value in columns])
    axes.set_yticks(range(len(rows)), [style.shown(value) for value in rows])
    axes.grid(visible=False)
    axes.set_xlabel(across.title)
    axes.set_ylabel(up.title)
    _write_cells(axes, cells, image)
    bar = figure.colorbar(image, ax=axes)
    style.scale(bar.ax, "y", cells[~np.isnan(cells)].tolist(), ticks=False)
    bar.set_label(objective.column)
    remark = f"; best over {', '.join(short_name(axis.column) for axis in others)}" if others else ""
    axes.set_title(f"{objective.column}, {'least' if objective.least else 'most'} is bright{remark}", fontsize="small")
    style.head(figure, title)
    return figure


def _best(
    done: polars.DataFrame, objective: Objective, across: Swept, up: Swept, columns: list[Any], rows: list[Any]
) -> np.ndarray:
    import polars

    value = polars.col(objective.column)
    best = done.group_by(across.column, up.column).agg(value.min() if objective.least else value.max())
    cells = np.full((len(rows), len(columns)), np.nan)
    for x, y, found in best.iter_rows():
        if found is not None:
            cells[rows.index(y), columns.index(x)] = found
    return cells


def _norm(cells: np.ndarray) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    known = cells[~np.isnan(cells)]
    kind = LogNorm if style.is_logarithmic(known.tolist()) else Normalize
    return kind(known.min(), known.max())


def _write_cells(axes: Axes, cells: np.ndarray, image: Any) -> None:
    if cells.size > MOST_CELLS**2 // 3:
        return
    for (row, column), value in np.ndenumerate(cells):
        if np.isnan(value):
            continue
        red, green, blue, _ = image.cmap(image.norm(value))
        ink = "white" if 0.3 * red + 0.59 * green + 0.11 * blue < DARK else "black"
        axes.text(column, row, f"{value:,.4g}", ha="center", va="center", color=ink, fontsize="x-small")
