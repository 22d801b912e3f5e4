"""The table of a sweep: a row per point; first what the grid sets, then the bench's other parameters, then what came out.

After the results stand the columns that the grid asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.sweep.asked import add_asked
from kernbench.sweep.grid import Grid
from kernbench.sweep.points import Points
from kernbench.sweep.row import COLUMNS

if TYPE_CHECKING:
    import polars


def build_table(grid: Grid, points: Points, rows: polars.DataFrame) -> polars.DataFrame:
    """The table of those points that have a row, in the grid's order."""
    return add_asked(grid, points, join_rows(grid, points, rows))


def join_rows(grid: Grid, points: Points, rows: polars.DataFrame) -> polars.DataFrame:
    """Parameters and results alone."""
    names = dict.fromkeys([*(axis.name for axis in grid.axes), *points.setting.parameters])
    return points.frame(list(names)).join(rows, on="key", how="inner", maintain_order="left").select(*names, *COLUMNS)
