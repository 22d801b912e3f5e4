"""The plot of a probe: utilisation of the bottleneck of each case over the size of the transfer.

There is one panel for each family. The longer the route, the larger a transfer must be to hide its latency.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import style
from kernbench.units import format_bytes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from kernbench.traffic.probe_suite import Measured, Survey


def plot_survey(survey: Survey, stem: Path) -> list[Path]:
    """Draw `stem`.svg and `stem`.png; returns their paths. The bytes depend on the survey alone.

    Errors: InputError if the directory cannot be written.
    """
    with style.look():
        return style.save(_draw(survey), stem)


def _draw(survey: Survey) -> Figure:
    from matplotlib.figure import Figure

    families = {name: list(same) for name, same in groupby(survey.measured, lambda one: one.case.family)}
    figure = Figure(figsize=(1.4 + 4.2 * len(families), 5.6), layout="constrained")
    for axes, (family, measured) in zip(
        figure.subplots(1, len(families), sharey=True, squeeze=False).flat, families.items(), strict=True
    ):
        _draw_family(axes, family, measured)
    figure.supylabel("utilisation of the bottleneck (%)", fontsize="medium")
    figure.suptitle(f"probe of {survey.topology}, each flow alone", x=0.01, ha="left", fontweight="bold")
    return figure


def _draw_family(axes: Axes, family: str, measured: list[Measured]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    from kernbench.traffic.probe_cases import TITLES

    for i, (case, same) in enumerate(groupby(measured, lambda one: one.case)):
        points = list(same)
        axes.plot(
            [one.nbytes for one in points],
            [100 * one.utilisation for one in points],
            color=style.CATEGORIES[i % len(style.CATEGORIES)],
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=5,
            label=case.name,
        )
    axes.set_title(TITLES[family])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sorted({one.nbytes for one in measured})[::2]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda nbytes, _: format_bytes(nbytes)))
    axes.set_ylim(0, 102)
    axes.set_xlabel("size of the transfer")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
