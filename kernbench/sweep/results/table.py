"""The table of a sweep: a row per point; first what the grid sets, then the workload's other parameters, then what came out.

After the results stand the columns that the grid asks for. The table is written some rows at a time, so that what it takes
in memory does not grow with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from kernbench.modes import Mode
from kernbench.sweep.design.points import Points
from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.results.bounds import is_bounded
from kernbench.sweep.results.derived_columns import add_derived, add_shares, objectives_of
from kernbench.sweep.results.store import write_frames
from kernbench.sweep.results.stored_rows import slices
from kernbench.sweep.row import OK

if TYPE_CHECKING:
    import polars


class Rows(Protocol):
    """The rows of points, by position: as `StoredRows`, or made of several."""

    @property
    def found(self) -> np.ndarray:
        """bool[point], whether it has a row."""
        ...

    def take(self, which: np.ndarray) -> polars.DataFrame:
        """The rows of some points that have one, in the order given."""
        ...


def write_table(grid: Grid, points: Points, rows: Rows, path: Path) -> None:
    """Write the table of those points that have a row, in the grid's order. Errors: InputError if it cannot be written."""
    write_frames(path, list_frames(grid, points, rows))


def list_frames(grid: Grid, points: Points, rows: Rows) -> Iterator[polars.DataFrame]:
    """The table in pieces of one schema: at least one, which may be empty."""
    shown = np.flatnonzero(rows.found)
    baseline = points.baseline
    bases = None if baseline is None else _list_bases(grid, points, rows, np.unique(baseline))
    for some in slices(shown) if len(shown) else [shown]:
        frame = _make(grid, points, rows, some)
        yield frame if baseline is None or bases is None else add_shares(grid, frame, baseline[some], bases)


def parameter_names(grid: Grid, points: Points) -> list[str]:
    """The columns of parameters, the grid's axes first."""
    return list(dict.fromkeys([*(axis.name for axis in grid.axes), *points.context.parameters]))


def _make(grid: Grid, points: Points, rows: Rows, which: np.ndarray) -> polars.DataFrame:
    """The table of some points, but for what they are compared with."""
    parameters = points.frame(parameter_names(grid, points), which)
    results = rows.take(which).select(grid.columns)
    return add_derived(grid, points.context, parameters.hstack(results))


def _list_bases(grid: Grid, points: Points, rows: Rows, keys: np.ndarray) -> polars.DataFrame:
    """The baseline points: `of`, one of the keys, and the objectives of that point, if it has a result.

    A bound is no baseline, but of other bounds in mode analytic.
    """
    import polars

    at = points.finder()(keys)
    names = [objective.column for objective in objectives_of(grid)]
    frames: list[polars.DataFrame] = []
    for some in slices(at[rows.found[at]]):
        made = _make(grid, points, rows, some)
        good = made["status"] == OK
        if grid.mode == Mode.AUTO:
            good &= ~is_bounded(made)
        frames.append(made.filter(good).select(polars.col("key").alias("of"), *names))
    return polars.concat(frames) if frames else polars.DataFrame(schema={"of": str, **dict.fromkeys(names, float)})
