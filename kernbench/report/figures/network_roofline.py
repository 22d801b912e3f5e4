"""The roofline of a network: each operator of a step at the intensity that it needs and the rate that it reached.

Flops and bytes are the least of an operator, so a point lies below the roof by what its kernels lose. Areas are parts of the
step. Operators that the least does not count, such as collectives, have no point; the figure says how much of the step they
take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import PLAIN, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernbench.runs.result import RunResult

ROOM = 2.0  # times the least and the most that is shown, at the ends of an axis
WIDEST = 26.0  # points, the diameter of a step's whole time
LEAST_WIDTH = 4.0
LEAST_SHARE = 0.005  # of the step that is worth a word
NS_PER_S, FLOP_PER_TFLOP = 1e9, 1e12


class Placed(NamedTuple):
    """An operator of a part of the network."""

    name: str
    intensity: float  # flops a byte
    tflops: float
    share: float  # of the step


def draw_run(result: RunResult) -> dict[str, str]:
    """The pictures of a run, as SVG by name; none if no operator has both flops and bytes."""
    told = result.network
    assert told is not None
    placed = place_operators(told)
    if not placed:
        return {}
    title = f"{result.bench} on {result.topology}, {told['phase']}: {told['share_of_least']:.0%} of what is possible"
    with style.look():
        return {"roofline": style.to_svg(_draw(told, placed, title))}


def place_operators(told: Mapping[str, Any]) -> list[Placed]:
    """The operators of the answer of a network that have flops and bytes, in order."""
    rows = [row for row in told["operators"] if row["flops"] and row["bytes"] and row["ns"]]
    sections = {row["section"] for row in rows if row["times"] > 1}
    return [
        Placed(
            f"{row['operator']} ({row['section']})" if len(sections) > 1 and row["times"] > 1 else row["operator"],
            row["flops"] / row["bytes"],
            row["flops"] / row["ns"] * NS_PER_S / FLOP_PER_TFLOP,
            row["times"] * row["ns"] / told["step_ns"],
        )
        for row in rows
    ]


def _draw(told: Mapping[str, Any], placed: Sequence[Placed], title: str) -> Figure:
    figure = style.new_figure(style.LOWEST)
    axes = figure.subplots()
    tflops, gbs = told["peak_tflops"], told["peak_gbs"]
    ridge = tflops * 1e3 / gbs
    across = [ridge, *(one.intensity for one in placed)]
    ends = [min(across) / ROOM, ridge, max(across) * ROOM]
    roof = [min(tflops, x * gbs / 1e3) for x in ends]
    axes.plot(ends, roof, color=colours.INK, linewidth=1.4)
    for i, one in enumerate(placed):
        _draw_point(
            axes,
            one,
            colours.CATEGORIES[i % len(colours.CATEGORIES)],
            style.MARKERS[i // len(colours.CATEGORIES) % len(style.MARKERS)],
        )
    shown_x, shown_y = named("least flops a byte", PLAIN, across), named("rate", "TFLOPS", [tflops])
    axes.set_xscale("log")
    axes.set_yscale("log")
    scale(axes, "x", shown_x, ends, swept=False)
    lowest = min(roof[0], *(one.tflops for one in placed)) / ROOM
    scale(axes, "y", shown_y, [lowest, tflops * ROOM], swept=False)
    axes.set_xlabel(shown_x.title)
    axes.set_ylabel(shown_y.title)
    missing = 1 - sum(one.share for one in placed)
    handles = axes.get_legend_handles_labels()[0]
    names = [f"{one.name}, {one.share:.0%} of the step" for one in placed]
    remark = f"The line is the peak of a SIP: {tflops:,.4g} TFLOPS, {gbs:,.4g} GB/s. Areas are parts of the step"
    pointless = f"; {missing:.0%} of it needs no flops or no bytes, and has no point"
    remark += f"{pointless if missing > LEAST_SHARE else ''}."
    style.legend(figure, handles, names, remark=remark, beside=False)
    style.head(figure, title)
    return figure


def _draw_point(axes: Axes, one: Placed, colour: str, marker: str) -> None:
    size = max(LEAST_WIDTH, WIDEST * sqrt(one.share))
    axes.plot(
        [one.intensity], [one.tflops], marker, color=colour, markersize=size, alpha=0.85, label=style.shown(one.name)
    )
