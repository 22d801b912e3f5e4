"""The parts of a diagram: a symbol at its place, with a label in it or beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.report.diagram.legend import find_caption
from kernbench.report.diagram.rectangles import Plane, Rectangle
from kernbench.report.diagram.svg import Svg, text_width
from kernbench.report.diagram.symbols import LABEL, PAINTS, QUIET

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.view import Box, View
    from kernbench.report.diagram.layout import DiagramLayout

LEADING = 1.25  # of lines of text


def draw_box(svg: Svg, machine: Machine, layout: DiagramLayout, plane: Plane, i: int) -> None:
    """Draw one box; a label beside it occupies its rectangle in the plane."""
    box, symbol, (x, y) = layout.view.boxes[i], layout.symbols[i], layout.at[i]
    caption, paint = find_caption(machine, layout.view.name, box.kind), PAINTS[symbol.role]
    tip = ", ".join((box.name, *caption))
    if symbol.round:
        svg.circle(x, y, symbol.width / 2, paint.fill, paint.edge, line=1.5, tip=tip)
    else:
        where = layout.box(i)
        svg.rect(where.left, where.top, symbol.width, symbol.height, paint.fill, paint.edge, radius=3, tip=tip)
    lines = _lines(layout.view, box, caption)
    height = LEADING * symbol.size * len(lines)
    if max(text_width(line, symbol.size) for line in lines) <= symbol.width - 2 and height <= symbol.height:
        for n, line in enumerate(lines):
            at = y + (n - (len(lines) - 1) / 2) * LEADING * symbol.size
            bold = n == 0 and (len(lines) > 1 or layout.view.name == "pe")
            svg.text(x, at, line, symbol.size, fill=paint.text, bold=bold)
    elif box.label:
        _label_beside(svg, plane, layout.box(i), box.label)


def _lines(view: View, box: Box, caption: tuple[str, ...]) -> tuple[str, ...]:
    if view.name == "pe":
        return (box.label, *caption)
    if view.name == "cube" and box.kind == "ucie":
        return ("UCIe", box.label.removeprefix("ucie_"))
    return (box.label,)


def _label_beside(svg: Svg, plane: Plane, box: Rectangle, label: str) -> None:
    width, height = text_width(label, LABEL), LABEL
    x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    right, left = box.right + 3 + width / 2, box.left - 3 - width / 2
    below, above = box.bottom + 2 + height / 2, box.top - 2 - height / 2
    places = [
        (right, below),
        (left, below),
        (right, above),
        (left, above),
        (x, below),
        (x, above),
        (right, y),
        (left, y),
    ]
    chosen = plane.place([Rectangle.around(*place, width, height) for place in places])
    svg.text(*places[chosen], label, LABEL, fill=QUIET)
