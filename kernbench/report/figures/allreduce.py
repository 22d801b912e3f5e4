"""Plots of the all-reduce evaluation, from its table alone: latency against bytes per PE, in four plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.evaluation.allreduce import COLUMNS, DEFAULT, KINDS
from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.evaluation_table import check_table
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import BYTES, named, quantity

if TYPE_CHECKING:
    import polars
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN = ("latency_ns", "bound_ns", "task_bound_ns")

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
    figure, grid = style.new_panels(len(panels), height=3.4, sharex=True, sharey=True)
    palette = _palette(table)
    for axes, (title, lines) in zip(grid, panels, strict=True):
        style.panel_title(axes, title, len(panels))
        _draw_lines(axes, lines, palette)
    points = [line for _, lines in panels for _, line in lines]
    sizes = table["bytes_per_pe"].unique().to_list()
    drawn = [value for line in points for name in DRAWN for value in line[name].drop_nulls() if value]
    across, up = (quantity(*shown) for shown in (("bytes_per_pe", sizes), ("latency_ns", drawn)))
    scale(grid[0], "x", across, sizes, swept=True)
    scale(grid[0], "y", up, drawn, swept=False)
    style.label_across(grid, named("bytes of a PE", BYTES, sizes).title)
    figure.supylabel(up.title, fontsize="medium")
    handles, labels = grid[0].get_legend_handles_labels()
    remark = "dashed: bound of the algorithm; dotted: of the task"
    style.legend(figure, handles, labels, what, remark=remark, beside=len(panels) == 1)
    first = table.row(0, named=True)
    text = f"all-reduce of {first['dtype']} over {first['participants']} cubes of {first['n_sips']} SIPs, {first['topology']}"
    style.head(figure, text)
    return figure


def _palette(table: polars.DataFrame) -> dict[str, str]:
    """A colour for each memory, topology, root and algorithm: one for those that all figures have, another for each other."""
    usual = (KINDS[0], str(table["sip_topology"][0]), "centre", DEFAULT)
    found = [
        value
        for name in ("buffer_kind", "sip_topology", "root", "algorithm")
        for value in table[name].unique(maintain_order=True)
    ]
    others = [value for value in found if value not in usual]
    shades = colours.of_names([DEFAULT, *others])
    return {**shades, **dict.fromkeys(usual, shades[DEFAULT])}


def _draw_lines(axes: Axes, lines: Lines, palette: Mapping[str, str]) -> None:
    alone = len({tuple(points.sort("bytes_per_pe")["bound_ns"]) for _, points in lines}) == 1
    for i, (label, points) in enumerate(lines):
        ordered = points.sort("bytes_per_pe")
        sizes = ordered["bytes_per_pe"].to_list()
        colour = palette.get(label, palette[DEFAULT])
        marker = style.MARKERS[i % len(style.MARKERS)]
        axes.plot(sizes, ordered["latency_ns"].to_list(), color=colour, marker=marker, markersize=4.5, label=label)
        if not ordered["bound_ns"].null_count() and (i == 0 or not alone):
            bounds = ordered["bound_ns"].to_list()
            axes.plot(sizes, bounds, color=colours.INK if alone else colour, linestyle="--", linewidth=1)
        if i == 0:  # the task is the same for all
            axes.plot(sizes, ordered["task_bound_ns"].to_list(), color=colours.INK, linestyle=":", linewidth=1)


def _by(table: polars.DataFrame, column: str) -> list[tuple[str, polars.DataFrame]]:
    return [(value, _where(table, **{column: value})) for value in table[column].unique(maintain_order=True)]


def _where(table: polars.DataFrame, **values: str) -> polars.DataFrame:
    import polars

    return table.filter(*(polars.col(name) == value for name, value in values.items()))
