"""Draw the diagram of a view, to scale, as SVG.

All places are computed. Boxes are where the compiled machine has its parts. If a box is on the straight line between
two others, the wire is routed around it. A label that does not fit its box gets the nearby place where it covers least.
The bytes of the SVG depend on the machine alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.report.diagram.areas import draw_areas, find_texts, label_areas
from kernbench.report.diagram.boxes import draw_box
from kernbench.report.diagram.layout import MARGIN, lay_out
from kernbench.report.diagram.legend import draw_legend, legend_height
from kernbench.report.diagram.rectangles import Plane
from kernbench.report.diagram.svg import Svg
from kernbench.report.diagram.symbols import QUIET
from kernbench.report.diagram.wires import draw_wire, find_courses, label_wire

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.view import View


def draw_view(machine: Machine, view: View, *, bandwidths: bool = False) -> str:
    """The SVG of a view; with `bandwidths` every wire is labelled with its GB/s in each direction."""
    layout, title = lay_out(machine, view), f"{machine.name}: {view.name}"
    courses, boxes = find_courses(layout), range(len(view.boxes))
    legend_px = legend_height(machine, layout)
    svg = Svg(layout.width + 2 * MARGIN, layout.bottom + legend_px + MARGIN, title)
    svg.text(MARGIN, 34, title, 22, anchor="start", bold=True)
    svg.text(MARGIN, 58, view.subtitle, 13, anchor="start", fill=QUIET)
    draw_areas(svg, layout)
    for wire, course in zip(view.wires, courses, strict=True):
        draw_wire(svg, layout, wire, course)
    plane = Plane([*(layout.box(i).grown(1) for i in boxes), *find_texts(layout)], courses)
    for i in boxes:
        draw_box(svg, machine, layout, plane, i)
    label_areas(svg, layout)
    if bandwidths:
        for wire, course in zip(view.wires, courses, strict=True):
            label_wire(svg, plane, wire, course)
    draw_legend(svg, machine, layout, bandwidths)
    return svg.render()
