"""The Pareto plot of a sweep: latency against what the machine costs, and the designs that nothing beats in both.

It is drawn where the table itself says what a cost is: one paid-for figure of the machine varies (a bandwidth, a rate, a
size), something else varies too (the first such axis gives the points their colours), and all points do the same work.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import style
from kernbench.report.swept import Swept, find_swept
from kernbench.sweep.row import OK

if TYPE_CHECKING:
    import polars
    from matplotlib.figure import Figure


def pareto_front(table: polars.DataFrame, cost: str, objective: str = "latency_ns") -> polars.DataFrame:
    """The rows that no other beats: by rising cost, each with a lower objective than all that are cheaper."""
    import polars

    ordered = table.sort(cost, objective, maintain_order=True)
    best_before = polars.col(objective).cum_min().shift(1)
    return ordered.filter(best_before.is_null() | (polars.col(objective) < best_before))


def find_cost(table: polars.DataFrame) -> Swept | None:
    """The axis that is the cost of a design, if the table has exactly one and a choice beside it."""
    swept = find_swept(table)
    costs = [axis for axis in swept if axis.paid_for]
    same_work = all(axis.of_topology or not axis.numeric for axis in swept)
    return costs[0] if len(costs) == 1 and len(swept) > 1 and same_work else None


def plot_pareto(table: polars.DataFrame, stem: Path, title: str) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths, none where there is no cost to plot against.

    The bytes depend on the table and the title alone. Errors: InputError if the directory cannot be written.
    """
    import polars

    done = table.filter(polars.col("status") == OK)
    cost = find_cost(done)
    if cost is None:
        return style.discard(stem)
    with style.look():
        return style.save(_draw(done, cost, title), stem)


def _draw(done: polars.DataFrame, cost: Swept, title: str) -> Figure:
    import polars
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    front = pareto_front(done, cost.column)
    unit, nanoseconds = style.time_unit(float(done["latency_ns"].max()))  # pyright: ignore[reportArgumentType]
    latencies = (done["latency_ns"] / nanoseconds).to_list()
    choice = next(axis for axis in find_swept(done) if axis.column != cost.column)
    if len(choice.values) <= style.MOST_LINES:
        shown = {str(value): done.filter(polars.col(choice.column) == value) for value in choice.values}
    else:
        shown = {"designs": done}
    for i, (name, colour) in enumerate(zip(shown, style.colours(len(shown), ordered=False), strict=True)):
        marker = style.MARKERS[i % len(style.MARKERS)]
        points = shown[name]
        axes.plot(points[cost.column], points["latency_ns"] / nanoseconds, marker, color=colour, label=name)
    heights = front["latency_ns"] / nanoseconds
    axes.plot(front[cost.column], heights, drawstyle="steps-post", color=style.INK, zorder=1, label="Pareto front")
    style.scale(axes, "x", cost.values, ticks=True)
    style.scale(axes, "y", latencies, ticks=False)
    axes.set_xlabel(cost.title)
    axes.set_ylabel(f"latency ({unit})")
    axes.legend(title=choice.title, alignment="left")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold")
    return figure
