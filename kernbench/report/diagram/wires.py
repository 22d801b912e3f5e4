"""The links of a diagram: their courses, their strokes, their bandwidths."""

from __future__ import annotations

from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING

from kernbench.report.diagram.rectangles import Plane, Rectangle, as_array
from kernbench.report.diagram.svg import Point, Svg, text_width
from kernbench.report.diagram.symbols import LABEL, RING, STROKES
from kernbench.report.diagram.tray_courses import TrayCourses
from kernbench.report.diagram.wire_routing import find_course

if TYPE_CHECKING:
    from kernbench.machine.view import Wire
    from kernbench.report.diagram.layout import DiagramLayout

CLEARANCE = 4.0  # px between a box and a wire that passes it
PLACES = 9  # along a wire, for its bandwidth
ASIDE = (0.0, 5.0, 10.0)  # extra px between it and its label


def find_courses(layout: DiagramLayout) -> list[tuple[Point, ...]]:
    """The course of each wire, around boxes and around packages that it does not belong to."""
    packages = [where for area, where in zip(layout.view.areas, layout.areas, strict=True) if area.kind == "sip"]
    boxes = as_array([*(layout.box(i).grown(CLEARANCE) for i in range(len(layout.at))), *packages])
    lines = [(layout.at[wire.src], layout.at[wire.dst]) for wire in layout.view.wires]
    courses: list[tuple[Point, ...]] = []
    tray = TrayCourses(layout)
    for wire, (start, end) in zip(layout.view.wires, lines, strict=True):
        if around := tray.find(wire):
            courses.append(around)
            continue
        holding = [len(layout.at) + i for i, where in enumerate(packages) if where.holds(start) or where.holds(end)]
        courses.append(find_course(start, end, boxes, [wire.src, wire.dst, *holding], lines, courses))
    return courses


def draw_wire(svg: Svg, layout: DiagramLayout, wire: Wire, course: tuple[Point, ...]) -> None:
    """Draw one wire; its width grows with its bandwidth."""
    stroke = STROKES[wire.kind]
    ends = f"{layout.view.boxes[wire.src].name} – {layout.view.boxes[wire.dst].name}"
    line = min(6.0, max(1.0, 1 + log2(max(wire.gbs, 1) / 64) / 1.5))
    tip = f"{ends}: {_bandwidth(wire)} GB/s each way"
    dash = RING.dash if wire.wraps else stroke.dash
    svg.polyline(course, stroke.colour, line=round(line, 2), dash=dash, tip=tip)


def label_wire(svg: Svg, plane: Plane, wire: Wire, course: tuple[Point, ...]) -> None:
    """Draw the bandwidth beside the longest piece of a wire, or on it if there is no room."""
    text = _bandwidth(wire)
    width = text_width(text, LABEL)
    (ax, ay), (bx, by) = max(
        pairwise(course),
        key=lambda ends: abs(ends[0][0] - ends[1][0]) + abs(ends[0][1] - ends[1][1]),
    )
    shares = sorted((n / (PLACES + 1) for n in range(1, PLACES + 1)), key=lambda share: (abs(share - 0.5), share))
    on = [(ax + share * (bx - ax), ay + share * (by - ay)) for share in shares]
    flat = abs(bx - ax) > abs(by - ay)
    places = [
        (x, y + side * (9 + off)) if flat else (x + side * (width / 2 + 5 + off), y)
        for off in ASIDE
        for x, y in on
        for side in (1, -1)
    ] + on
    chosen = plane.place([Rectangle.around(*place, width + 2, LABEL + 2) for place in places])
    x, y = places[chosen]
    svg.rect(x - width / 2 - 1, y - LABEL / 2 - 1, width + 2, LABEL + 2, "#FFFFFF", "none", radius=2)
    svg.text(x, y, text, LABEL, fill=STROKES[wire.kind].colour, bold=True)


def _bandwidth(wire: Wire) -> str:
    """The bandwidth of one link, with the number of links if there are several."""
    each = f"{wire.gbs / wire.links:,.6g}"
    return each if wire.links == 1 else f"{wire.links} × {each}"
