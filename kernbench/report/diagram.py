"""The picture of a view: everything at its place, to scale, as SVG.

Nothing is placed by hand. Boxes stand where the compiled machine says; where one stands on the straight line between two
others, that wire runs beside it; a label that does not fit its box takes the place near it that covers least. The bytes
depend on the machine alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log2
from typing import TYPE_CHECKING

from kernbench.report.captions import find_caption
from kernbench.report.detour import find_course
from kernbench.report.legend import draw_legend, legend_height
from kernbench.report.rectangles import Plane, Rectangle, as_array
from kernbench.report.svg import Point, Svg, text_width
from kernbench.report.symbols import AREAS, INK, QUIET, RING, STROKES, Symbol, find_symbol

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.view import Area, Box, View, Wire

PX_PER_MM = {"system": 7.0, "sip": 16.0, "cube": 72.0, "pe": 900.0}  # so that boxes of neighbours do not touch
NETWORK_PX_PER_MM = 112.0  # of a machine whose boxes are all there is
LEAST_PX = 860.0  # of the longer side of what is drawn
LEAST_SIP_PX = 300.0  # of a package, for what is said of it
LEAST_WIDTH = 560.0  # of a picture, for its legend
MARGIN, HEAD = 48.0, 84.0
CLEARANCE = 4.0  # px between a box and a wire that passes it
LABEL = 10.0  # px, of texts beside their boxes
PLACES = 9  # along a wire, for its bandwidth
ASIDE = (0.0, 5.0, 10.0)  # px farther from it than need be


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A view in pixels."""

    view: View
    symbols: tuple[Symbol, ...]  # of each box, with its size
    at: tuple[Point, ...]  # of each box
    areas: tuple[Rectangle, ...]
    left: float
    width: float
    bottom: float

    def box(self, i: int) -> Rectangle:
        return Rectangle.around(*self.at[i], self.symbols[i].width, self.symbols[i].height)


def draw_view(machine: Machine, view: View, *, bandwidths: bool = False) -> str:
    """The SVG of a view; with `bandwidths` every wire says its GB/s, each way."""
    sheet = _lay_out(view)
    scale = _scale(view)
    legend_px = legend_height(machine, view, sheet.symbols, sheet.width)
    svg = Svg(sheet.width + 2 * MARGIN, sheet.bottom + legend_px + MARGIN, f"{machine.name}: {view.name}")
    svg.text(MARGIN, 34, f"{machine.name}: {view.name}", 22, anchor="start", bold=True)
    svg.text(MARGIN, 58, view.subtitle, 13, anchor="start", fill=QUIET)
    for area, where in zip(view.areas, sheet.areas, strict=True):
        _draw_area(svg, area, where)
    courses = _courses(sheet)
    for wire, course in zip(view.wires, courses, strict=True):
        _draw_wire(svg, sheet, wire, course)
    plane = Plane([*(sheet.box(i).grown(1) for i in range(len(view.boxes))), *_area_texts(sheet)], courses)
    for i in range(len(view.boxes)):
        _draw_box(svg, machine, sheet, plane, i)
    for area, where in zip(view.areas, sheet.areas, strict=True):
        _label_area(svg, area, where)
    if bandwidths:
        for wire, course in zip(view.wires, courses, strict=True):
            _label_wire(svg, plane, wire, course)
    draw_legend(svg, machine, view, sheet.symbols, (MARGIN, sheet.bottom), sheet.width, scale, bandwidths)
    return svg.render()


def _scale(view: View) -> float:
    if not view.areas:
        return NETWORK_PX_PER_MM
    left, top, right, bottom = _extent_mm(view)
    packages = [area.right_mm - area.left_mm for area in view.areas if area.kind == "sip"]
    return max(
        PX_PER_MM[view.name],
        LEAST_PX / max(right - left, bottom - top),
        LEAST_SIP_PX / min(packages, default=LEAST_SIP_PX),
    )


def _extent_mm(view: View) -> tuple[float, float, float, float]:
    xs = [x for box in view.boxes for x in (box.x_mm - box.width_mm / 2, box.x_mm + box.width_mm / 2)]
    ys = [y for box in view.boxes for y in (box.y_mm - box.height_mm / 2, box.y_mm + box.height_mm / 2)]
    xs += [x for area in view.areas for x in (area.left_mm, area.right_mm)]
    ys += [y for area in view.areas for y in (area.top_mm, area.bottom_mm)]
    return min(xs), min(ys), max(xs), max(ys)


def _lay_out(view: View) -> _Sheet:
    scale = _scale(view)
    left, top, _, _ = _extent_mm(view)
    symbols = tuple(_sized(view, box, scale) for box in view.boxes)
    points = [((box.x_mm - left) * scale, (box.y_mm - top) * scale) for box in view.boxes]
    over = max([0.0, *(symbol.width / 2 - x for symbol, (x, _) in zip(symbols, points, strict=True))])
    above = max([0.0, *(symbol.height / 2 - y for symbol, (_, y) in zip(symbols, points, strict=True))])
    ring = 40.0 if any(wire.wraps for wire in view.wires) else 0.0
    origin = (MARGIN + over + ring, HEAD + above + ring)

    def place(x_mm: float, y_mm: float) -> Point:
        return origin[0] + (x_mm - left) * scale, origin[1] + (y_mm - top) * scale

    at = tuple(place(box.x_mm, box.y_mm) for box in view.boxes)
    areas = tuple(
        Rectangle(*place(area.left_mm, area.top_mm), *place(area.right_mm, area.bottom_mm)) for area in view.areas
    )
    ends = [Rectangle.around(*point, symbol.width, symbol.height) for point, symbol in zip(at, symbols, strict=True)]
    most = max(rectangle.right for rectangle in (*areas, *ends)) + ring
    lowest = max(rectangle.bottom for rectangle in (*areas, *ends)) + ring
    return _Sheet(view, symbols, at, areas, origin[0], max(most - MARGIN, LEAST_WIDTH), lowest + 42)


def _sized(view: View, box: Box, scale: float) -> Symbol:
    symbol = find_symbol(view.name, box.kind)
    if box.width_mm:
        return symbol._replace(width=box.width_mm * scale, height=box.height_mm * scale)
    return symbol


def _draw_area(svg: Svg, area: Area, where: Rectangle) -> None:
    fill, edge, dash = AREAS[area.kind]
    left, top, right, bottom = where
    svg.rect(left, top, right - left, bottom - top, fill, edge, radius=4, dash=dash, line=1.2)


def _area_lines(area: Area, where: Rectangle) -> list[tuple[float, float, str, float, str, bool]]:
    """The texts of an area: x, y, text, size, anchor, bold. Inside in the middle, or along its upper edge."""
    left, top, right, bottom = where
    if area.kind == "sip":
        if not area.remarks:
            return []
        return [(left, bottom + 14, ": ".join((area.label, *area.remarks)), 12, "start", False)]
    if area.kind in ("io_chiplet", "pe"):
        return [(left + 8, top + 13, area.label, 11, "start", True)]
    if not area.label:
        return []
    size = min(15.0, (right - left) / 7)
    lines = [(area.label, size, True), *((text, size * 0.8, False) for text in area.remarks)]
    y = (top + bottom) / 2 - (len(lines) - 1) * size * 0.6
    return [
        ((left + right) / 2, y + i * size * 1.2, text, size, "middle", bold)
        for i, (text, size, bold) in enumerate((text, s, bold) for text, s, bold in lines)
    ]


def _label_area(svg: Svg, area: Area, where: Rectangle) -> None:
    for x, y, text, size, anchor, bold in _area_lines(area, where):
        if area.kind == "sip":  # a wire may pass here
            svg.rect(x, y - size / 2, text_width(text, size), size + 2, "#FFFFFF", "none")
        svg.text(x, y, text, size, anchor=anchor, bold=bold, fill=INK if bold else QUIET)


def _area_texts(sheet: _Sheet) -> list[Rectangle]:
    found = []
    for area, where in zip(sheet.view.areas, sheet.areas, strict=True):
        for x, y, text, size, anchor, _ in _area_lines(area, where):
            width = text_width(text, size)
            found.append(Rectangle.around(x + (width / 2 if anchor == "start" else 0), y, width, size))
    return found


def _courses(sheet: _Sheet) -> list[tuple[Point, ...]]:
    """The course of each wire, around boxes and around packages that it does not belong to."""
    packages = [where for area, where in zip(sheet.view.areas, sheet.areas, strict=True) if area.kind == "sip"]
    boxes = as_array([*(sheet.box(i).grown(CLEARANCE) for i in range(len(sheet.at))), *packages])
    lines = [(sheet.at[wire.src], sheet.at[wire.dst]) for wire in sheet.view.wires]
    courses: list[tuple[Point, ...]] = []
    for wire, (start, end) in zip(sheet.view.wires, lines, strict=True):
        holding = [len(sheet.at) + i for i, where in enumerate(packages) if where.holds(start) or where.holds(end)]
        courses.append(find_course(start, end, boxes, [wire.src, wire.dst, *holding], lines, courses))
    return courses


def _draw_wire(svg: Svg, sheet: _Sheet, wire: Wire, course: tuple[Point, ...]) -> None:
    stroke = STROKES[wire.kind]
    ends = f"{sheet.view.boxes[wire.src].name} – {sheet.view.boxes[wire.dst].name}"
    line = min(6.0, max(1.0, 1 + log2(max(wire.gbs, 1) / 64) / 1.5))
    tip = f"{ends}: {_bandwidth(wire)} GB/s each way"
    dash = RING.dash if wire.wraps else stroke.dash
    svg.polyline(course, stroke.colour, line=round(line, 2), dash=dash, tip=tip)


def _draw_box(svg: Svg, machine: Machine, sheet: _Sheet, plane: Plane, i: int) -> None:
    box, symbol, (x, y) = sheet.view.boxes[i], sheet.symbols[i], sheet.at[i]
    caption = find_caption(machine, box.kind)
    tip = ", ".join((box.name, *caption))
    if symbol.round:
        svg.circle(x, y, symbol.width / 2, symbol.fill, symbol.edge, line=1.5, tip=tip)
    else:
        where = sheet.box(i)
        svg.rect(where.left, where.top, symbol.width, symbol.height, symbol.fill, symbol.edge, radius=3, tip=tip)
    lines = _lines(sheet.view, box, caption)
    height = 1.25 * symbol.size * len(lines)
    if max(text_width(line, symbol.size) for line in lines) <= symbol.width - 2 and height <= symbol.height:
        for n, line in enumerate(lines):
            at = y + (n - (len(lines) - 1) / 2) * 1.25 * symbol.size
            bold = n == 0 and (len(lines) > 1 or sheet.view.name == "pe")
            svg.text(x, at, line, symbol.size, fill=symbol.text, bold=bold)
    elif box.label:
        _label_beside(svg, plane, sheet.box(i), box.label)


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


def _bandwidth(wire: Wire) -> str:
    """Of one link, with their number if there are several."""
    each = f"{wire.gbs / wire.links:,.6g}"
    return each if wire.links == 1 else f"{wire.links} × {each}"


def _label_wire(svg: Svg, plane: Plane, wire: Wire, course: tuple[Point, ...]) -> None:
    """The bandwidth beside the longest stretch of a wire, or on it where there is no room."""
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
