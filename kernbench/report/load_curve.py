"""The plot of a latency–load curve: mean and 99th percentile over the offered load, and the saturation load.

The latency axis ends a little above the bend of the curve, because beyond saturation latency depends only on the length of the
window. Points beyond the axis are outside of the plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernbench.traffic.curve import Curve

TOP = 6.0  # times the zero-load latency


def plot_load_curve(curve: Curve, stem: Path) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths. The bytes depend on the curve alone.

    Errors: InputError if the directory cannot be written.
    """
    with style.look():
        return style.save(_draw(curve), stem)


def plot_load_curves(field: str, values: Sequence[str], curves: Sequence[Curve], stem: Path) -> list[Path]:
    """Draw the mean latencies of machines that differ in a field: `stem`.svg and `stem`.png, whose paths are returned.

    Errors: InputError if the directory cannot be written.
    """
    with style.look():
        return style.save(_draw_all(field, values, curves), stem)


def _draw_all(field: str, values: Sequence[str], curves: Sequence[Curve]) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    for i, (value, curve) in enumerate(zip(values, curves, strict=True)):
        saturation = "" if curve.saturation_load is None else f", saturated at {curve.saturation_load:.3f}"
        loads, latencies = zip(*((point.load, point.latency_ns) for point in curve.points), strict=True)
        look = {"color": style.CATEGORIES[i], "marker": style.MARKERS[i], "markersize": 5}
        axes.plot(loads, latencies, label=style.shown(f"{value}{saturation}"), **look)
    highest = max(point.latency_ns for curve in curves for point in curve.points)
    axes.set_xlim(0, max(point.load for point in curves[0].points) * 1.04)
    axes.set_ylim(0, min(highest * 1.08, TOP * max(curve.zero_load_ns for curve in curves)))
    axes.set_xlabel("offered load (of what an endpoint can inject)")
    axes.set_ylabel("mean latency (ns)")
    axes.legend(loc="upper left", frameon=True, framealpha=1, edgecolor="none", title=style.shown(field))
    figure.suptitle(_title(curves[0]), x=0.01, ha="left", fontweight="bold")
    return figure


def _draw(curve: Curve) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    loads = [point.load for point in curve.points]
    lines = {"99 % of packets": [p.p99_ns for p in curve.points], "mean": [p.latency_ns for p in curve.points]}
    for i, (name, latencies) in enumerate(lines.items()):
        axes.plot(loads, latencies, color=style.CATEGORIES[i], marker=style.MARKERS[i], markersize=5, label=name)
    axes.axhline(curve.zero_load_ns, color=style.INK, linewidth=1, linestyle=":", label="mean, each packet alone")
    if curve.saturation_load is not None:
        _mark_saturation(axes, curve.saturation_load, "≤ " if curve.saturation_load == loads[0] else "")
    axes.set_xlim(0, max(loads) * 1.04)
    highest = max(max(latencies) for latencies in lines.values())
    axes.set_ylim(0, min(highest * 1.08, TOP * curve.zero_load_ns))
    axes.set_xlabel("offered load (of what an endpoint can inject)")
    axes.set_ylabel("latency (ns)")
    axes.legend(loc="upper left", frameon=True, framealpha=1, edgecolor="none")
    figure.suptitle(_title(curve), x=0.01, ha="left", fontweight="bold")
    return figure


def _title(curve: Curve) -> str:
    injection = curve.injection
    return (
        f"{injection.pattern} traffic on {curve.topology} ({curve.size}), packets of {_flits(injection.packet_flits)}"
    )


def _mark_saturation(axes: Axes, load: float, bound: str) -> None:
    axes.axvline(load, color=style.INK, linewidth=1, linestyle="--", label=f"saturation, {bound}{load:.3f}")


def _flits(count: int) -> str:
    return "1 flit" if count == 1 else f"{count} flits"
