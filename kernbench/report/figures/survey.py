"""The plot of a probe: utilisation of the bottleneck of each case over the size of the transfer.

There is one panel for each family. The longer the route, the larger a transfer must be to hide its latency.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.report import colours
from kernbench.report.figures import style
from kernbench.report.figures.ticks import scale
from kernbench.report.tables.engineering import BYTES, Quantity, named

PANEL = 3.4  # inches, the height of a panel with its legend

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
    families = {name: list(same) for name, same in groupby(survey.measured, lambda one: one.case.family)}
    figure, grid = style.new_panels(len(families), most=2, height=PANEL, sharey=True)
    sizes = [one.nbytes for one in survey.measured]
    for axes, (family, measured) in zip(grid, families.items(), strict=True):
        _draw_family(axes, family, measured, named("size of the transfer", BYTES, sizes))
    figure.supylabel("utilisation of the bottleneck (%)", fontsize="medium")
    style.head(figure, f"probe of {survey.topology}, each flow alone")
    return figure


def _draw_family(axes: Axes, family: str, measured: list[Measured], across: Quantity) -> None:
    from kernbench.traffic.probe_cases import TITLES

    palette = colours.of_names(one.case.name for one in measured)
    for i, (case, same) in enumerate(groupby(measured, lambda one: one.case)):
        points = list(same)
        axes.plot(
            [one.nbytes for one in points],
            [100 * one.utilisation for one in points],
            color=palette[case.name],
            marker=style.MARKERS[i % len(style.MARKERS)],
            markersize=4.5,
            label=style.shown(case.name),
        )
    style.panel_title(axes, TITLES[family], 2)
    scale(axes, "x", across, [one.nbytes for one in measured], swept=True)
    axes.set_ylim(0, 102)
    axes.set_xlabel(across.title)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, fontsize="x-small")
