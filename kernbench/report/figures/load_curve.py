"""The plot of a latency–load curve: mean and 99th percentile over the offered load, and the saturation load.

The latency axis ends a little above the bend of the curve, because beyond saturation latency depends only on the length of the
window. Points beyond the axis are outside of the plot.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.label_fitting import shorten
from kernbench.report.figures.ticks import find_ticks, set_ticks
from kernbench.report.tables.engineering import PLAIN, named

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernbench.traffic.curve import Curve

VALUE_LETTERS = 22  # of a value of a field, in the legend beside its saturation load
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
    figure = style.new_figure(style.LOWEST)
    axes = figure.subplots()
    shades = colours.ramp(len(values)) if _are_numbers(values) else list(colours.of_names(values).values())
    names = []
    for i, (value, curve) in enumerate(zip(values, curves, strict=True)):
        saturation = "" if curve.saturation_load is None else f", saturated at {curve.saturation_load:.3f}"
        names.append(f"{shorten(value, VALUE_LETTERS)}{saturation}")
        loads, latencies = zip(*((point.load, point.latency_ns) for point in curve.points), strict=True)
        look = {"color": shades[i], "marker": style.MARKERS[i % len(style.MARKERS)], "markersize": 4.5}
        axes.plot(loads, latencies, label=style.shown(names[-1]), **look)
    highest = max(point.latency_ns for curve in curves for point in curve.points)
    top = min(highest * 1.08, TOP * max(curve.zero_load_ns for curve in curves))
    _scale_axes(axes, [point.load for point in curves[0].points], top, "mean latency")
    style.legend(figure, axes.get_legend_handles_labels()[0], names, field, beside=False)
    style.head(figure, _title(curves[0]))
    return figure


def _draw(curve: Curve) -> Figure:
    figure = style.new_figure(style.LOWEST)
    axes = figure.subplots()
    loads = [point.load for point in curve.points]
    lines = {"99 % of packets": [p.p99_ns for p in curve.points], "mean": [p.latency_ns for p in curve.points]}
    for i, (name, latencies) in enumerate(lines.items()):
        axes.plot(loads, latencies, color=colours.CATEGORIES[i], marker=style.MARKERS[i], markersize=4.5, label=name)
    axes.axhline(curve.zero_load_ns, color=colours.INK, linewidth=1, linestyle=":", label="mean, each packet alone")
    if curve.saturation_load is not None:
        _mark_saturation(axes, curve.saturation_load, "≤ " if curve.saturation_load == loads[0] else "")
    highest = max(max(latencies) for latencies in lines.values())
    _scale_axes(axes, loads, min(highest * 1.08, TOP * curve.zero_load_ns), "latency")
    style.legend(figure, *axes.get_legend_handles_labels(), beside=False)
    style.head(figure, _title(curve))
    return figure


def _scale_axes(axes: Axes, loads: Sequence[float], top_ns: float, name: str) -> None:
    """Both axes from zero, whatever the curve spans, for a bend looks like one on linear axes alone."""
    across = named("offered load (of what an endpoint can inject)", PLAIN, loads)
    up = named(name, "ns", [top_ns])
    set_ticks(axes, "x", across, find_ticks(across, [0.0, max(loads)], swept=False))
    set_ticks(axes, "y", up, find_ticks(up, [0.0, top_ns], swept=False))
    axes.set_xlim(0, max(loads) * 1.04)
    axes.set_ylim(0, top_ns)
    axes.set_xlabel(across.title)
    axes.set_ylabel(up.title)


def _are_numbers(values: Sequence[str]) -> bool:
    try:
        return bool([float(value) for value in values])
    except ValueError:
        return False


def _title(curve: Curve) -> str:
    injection = curve.injection
    return (
        f"{injection.pattern} traffic on {curve.topology} ({curve.size}), packets of {_flits(injection.packet_flits)}"
    )


def _mark_saturation(axes: Axes, load: float, bound: str) -> None:
    axes.axvline(load, color=colours.INK, linewidth=1, linestyle="--", label=f"saturation, {bound}{load:.3f}")


def _flits(count: int) -> str:
    return "1 flit" if count == 1 else f"{count} flits"
