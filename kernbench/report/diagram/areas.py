"""The dies and packages of a diagram, and their labels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from kernbench.report.diagram.rectangles import Rectangle
from kernbench.report.diagram.svg import Svg, text_width
from kernbench.report.diagram.symbols import AREAS, INK, QUIET

if TYPE_CHECKING:
    from kernbench.machine.view import Area
    from kernbench.report.diagram.layout import DiagramLayout


class _Line(NamedTuple):
    """A line of text on an area."""

    x: float
    y: float
    text: str
    size: float
    anchor: str = "middle"
    bold: bool = False


def draw_areas(svg: Svg, layout: DiagramLayout) -> None:
    """Draw the rectangles, largest first."""
    for area, (left, top, right, bottom) in zip(layout.view.areas, layout.areas, strict=True):
        fill, edge, dash = AREAS[area.kind]
        svg.rect(left, top, right - left, bottom - top, fill, edge, radius=4, dash=dash, line=1.2)


def label_areas(svg: Svg, layout: DiagramLayout) -> None:
    """Draw their labels, on top of everything else."""
    for area, where in zip(layout.view.areas, layout.areas, strict=True):
        for x, y, text, size, anchor, bold in _lines(area, where):
            if area.kind == "sip":  # a wire may pass behind its label
                svg.rect(x, y - size / 2, text_width(text, size), size + 2, "#FFFFFF", "none")
            svg.text(x, y, text, size, anchor=anchor, bold=bold, fill=INK if bold else QUIET)


def find_texts(layout: DiagramLayout) -> Iterable[Rectangle]:
    """The rectangles of these labels."""
    for area, where in zip(layout.view.areas, layout.areas, strict=True):
        for line in _lines(area, where):
            width = text_width(line.text, line.size)
            x = line.x + (width / 2 if line.anchor == "start" else 0)
            yield Rectangle.around(x, line.y, width, line.size)


def _lines(area: Area, where: Rectangle) -> list[_Line]:
    """The place of a label: beneath a package, in a corner of an IO chiplet and a PE, in the middle of others."""
    left, top, right, bottom = where
    if area.kind == "sip":
        text = ": ".join((area.label, *area.remarks))
        return [_Line(left, bottom + 14, text, 12, "start")] if area.remarks else []
    if area.kind in ("io_chiplet", "pe"):
        return [_Line(left + 14, top + 13, area.label, 11, "start", bold=True)]  # clear of a port at the edge
    if not area.label:
        return []
    size = min(15.0, (right - left) / 7)
    x, y = (left + right) / 2, (top + bottom) / 2 - len(area.remarks) * size * 0.6
    remarks = [_Line(x, y + (i + 1) * size * 1.2, remark, size * 0.8) for i, remark in enumerate(area.remarks)]
    return [_Line(x, y, area.label, size, bold=True), *remarks]
