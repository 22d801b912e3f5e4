"""The picture of a view: everything at its place, to scale, as SVG.

Nothing is placed by hand. Boxes stand where the compiled machine says; where one stands on the straight line between two
others, that wire runs beside it; a label that does not fit its box takes the place near it that covers least. The bytes
depend on the machine alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.report.areas import draw_areas, find_texts, label_areas
from kernbench.report.boxes import draw_box
from kernbench.report.diagram_layout import MARGIN, lay_out
from kernbench.report.legend import draw_legend, legend_height
from kernbench.report.rectangles import Plane
from kernbench.report.svg import Svg
from kernbench.report.symbols import QUIET
from kernbench.report.wires import draw_wire, find_courses, label_wire

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.view import View


def draw_view(machine: Machine, view: View, *, bandwidths: bool = False) -> str:
    """The SVG of a view; with `bandwidths` every wire says its GB/s, each way."""
    sheet, title = lay_out(view), f"{machine.name}: {view.name}"
    courses, boxes = find_courses(sheet), range(len(view.boxes))
    legend_px = legend_height(machine, sheet)
    svg = Svg(sheet.width + 2 * MARGIN, sheet.bottom + legend_px + MARGIN, title)
    svg.text(MARGIN, 34, title, 22, anchor="start", bold=True)
    svg.text(MARGIN, 58, view.subtitle, 13, anchor="start", fill=QUIET)
    draw_areas(svg, sheet)
    for wire, course in zip(view.wires, courses, strict=True):
        draw_wire(svg, sheet, wire, course)
    plane = Plane([*(sheet.box(i).grown(1) for i in boxes), *find_texts(sheet)], courses)
    for i in boxes:
        draw_box(svg, machine, sheet, plane, i)
    label_areas(svg, sheet)
    if bandwidths:
        for wire, course in zip(view.wires, courses, strict=True):
            label_wire(svg, plane, wire, course)
    draw_legend(svg, machine, sheet, bandwidths)
    return svg.render()
