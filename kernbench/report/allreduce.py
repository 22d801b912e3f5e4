"""Plots of the all-reduce evaluation, from its table alone: latency against bytes per PE, in four plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.evaluation.allreduce import COLUMNS, DEFAULT, KINDS
from kernbench.report import style
from kernbench.report.evaluation_table import check_table

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Lines = Sequence[tuple[str, "polars.DataFrame"]]  # label, points


def plot_allreduce(table: polars.DataFrame, directory: Path) -> list[Path]:
    """Draw `buffer_kinds`, `sip_topologies`, `roots` and `algorithms` as SVG and PNG into a directory; returns their paths.

    The bytes depend on the table alone. Errors: InputError for a table that no run gives, or if the directory cannot be
    written.
    """
    check_table(table, COLUMNS, "all-reduce", "allreduce")
    figures = {
        "buffer_kinds": _draw_kinds,
        "sip_topologies": _draw_topologies,
        "roots": _draw_roots,
        "algorithms": _draw_algorithms,
    }
    with style.look():
        return [path for name, draw in figures.items() for path in style.save(draw(table), directory / name)]


def _draw_kinds(table: polars.DataFrame) -> Figure:
    """A panel for each SIP topology, with a line for each memory of the slots, and the lower bound."""
    chosen = _where(table, algorithm=DEFAULT, root="centre")
    panels = [
        (topology, [(kind, _where(points, buffer_kind=kind)) for kind in KINDS])
        for topology, points in _by(chosen, "sip_topology")
    ]
    return _draw(table, "slots in", panels)


def _draw_topologies(table: polars.DataFrame) -> Figure:
    chosen = _where(table, algorithm=DEFAULT, root="centre", buffer_kind=KINDS[0])
    return _draw(table, "SIP topology", [(f"slots in {KINDS[0]}", _by(chosen, "sip_topology"))])


def _draw_roots(table: polars.DataFrame) -> Figure:
    chosen = _where(table, algorithm=DEFAULT, buffer_kind=KINDS[0])
    panels = [(topology, _by(points, "root")) for topology, points in _by(chosen, "sip_topology")]
    return _draw(table, "root cube", panels)


def _draw_algorithms(table: polars.DataFrame) -> Figure:
    ring = _by(table, "sip_topology")[0][1]
    chosen = _where(ring, root="centre", buffer_kind=KINDS[0])
    return _draw(table, "algorithm", [(str(ring["sip_topology"][0]), _by(chosen, "algorithm"))])


def _draw(table: polars.DataFrame, what: str, panels: Sequence[tuple[str, Lines]]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2.6 + 4.0 * len(panels), 4.2), layout="constrained")
    grid = figure.subplots(1, len(panels), sharex=True, sharey=True, squeeze=False)[0]
    unit, nanoseconds = style.time_unit(float(table["latency_ns"].max()))  # pyright: ignore[reportArgumentType]
    for axes, (title, lines) in zip(grid, panels, strict=True):
        axes.set_title(title)
        _draw_lines(axes, lines, nanoseconds)
    points = [line for _, lines in panels for _, line in lines]
    style.scale(grid[0], "x", table["bytes_per_pe"].unique().to_list(), ticks=True)
    lowest = ("latency_ns", "bound_ns", "task_bound_ns")
    drawn = [value / nanoseconds for line in points for name in lowest for value in line[name].drop_nulls()]
    style.scale(grid[0], "y", [value for value in drawn if value], ticks=False)
    figure.supxlabel("bytes of a PE (B)", fontsize="medium")
    figure.supylabel(f"latency ({unit})", fontsize="medium")
    handles, labels = grid[0].get_legend_handles_labels()
    figure.legend(handles, labels, title=what, loc="outside right center", alignment="left")
    first = table.row(0, named=True)
    text = f"all-reduce of {first['dtype']} over {first['participants']} cubes of {first['n_sips']} SIPs, {first['topology']}"
    figure.suptitle(text, x=0.01, ha="left", fontweight="bold")
    figure.text(1, 0, "dashed: bound of the algorithm; dotted: of the task", ha="right", fontsize="small")
    return figure


def _draw_lines(axes: Axes, lines: Lines, nanoseconds: float) -> None:
    alone = len({tuple(points.sort("bytes_per_pe")["bound_ns"]) for _, points in lines}) == 1
    for i, (label, points) in enumerate(lines):
        ordered = points.sort("bytes_per_pe")
        sizes = ordered["bytes_per_pe"].to_list()
        colour = style.CATEGORIES[i % len(style.CATEGORIES)]
        times = (ordered["latency_ns"] / nanoseconds).to_list()
        axes.plot(sizes, times, color=colour, marker=style.MARKERS[i], markersize=5, label=label)
        if not ordered["bound_ns"].null_count() and (i == 0 or not alone):
            bounds = (ordered["bound_ns"] / nanoseconds).to_list()
            axes.plot(sizes, bounds, color=style.INK if alone else colour, linestyle="--", linewidth=1)
        if i == 0:  # the task is the same for all
            bounds = (ordered["task_bound_ns"] / nanoseconds).to_list()
            axes.plot(sizes, bounds, color=style.INK, linestyle=":", linewidth=1)


def _by(table: polars.DataFrame, column: str) -> list[tuple[str, polars.DataFrame]]:
    return [(value, _where(table, **{column: value})) for value in table[column].unique(maintain_order=True)]


def _where(table: polars.DataFrame, **values: str) -> polars.DataFrame:
    import polars

    return table.filter(*(polars.col(name) == value for name, value in values.items()))
