"""Layout of a diagram in pixels: its scale and the places of boxes and areas.

The scale is that of the view, larger for small machines, and large enough for the label under a package. Symbols have fixed
sizes, so a diagram may be a little wider than the machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.report.diagram.rectangles import Rectangle
from kernbench.report.diagram.svg import Point
from kernbench.report.diagram.symbols import find_symbol

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.symbols import Symbol
    from kernbench.machine.view import Box, View

LEAST_PX = 860.0  # of the longer side of a diagram
MOST_PX = 1600.0  # of a tray, while the labels of its packages have room
LEAST_SIP_PX = 300.0  # of a package, for its label
LEAST_WIDTH = 560.0  # of a picture, for its legend
MARGIN, HEAD = 48.0, 84.0
RING = 40.0  # px around a network, for links that close rings
BENEATH = 42.0  # px to the legend


@dataclass(frozen=True, slots=True)
class DiagramLayout:
    """A view in pixels."""

    view: View
    px_per_mm: float
    symbols: tuple[Symbol, ...]  # of each box, with its size
    at: tuple[Point, ...]  # of each box
    areas: tuple[Rectangle, ...]
    width: float  # between the margins
    bottom: float  # where the legend begins

    def box(self, i: int) -> Rectangle:
        """The rectangle of a box."""
        return Rectangle.around(*self.at[i], self.symbols[i].width, self.symbols[i].height)


def lay_out(machine: Machine, view: View) -> DiagramLayout:
    """Lay out a view: its scale, symbols, boxes and areas."""
    scale = _scale(view)
    left, top, _, _ = _extent_mm(view)
    symbols = tuple(_sized(machine, view, box, scale) for box in view.boxes)
    points = [((box.x_mm - left) * scale, (box.y_mm - top) * scale) for box in view.boxes]
    over = max([0.0, *(symbol.width / 2 - x for symbol, (x, _) in zip(symbols, points, strict=True))])
    above = max([0.0, *(symbol.height / 2 - y for symbol, (_, y) in zip(symbols, points, strict=True))])
    ring = RING if view.in_rows or any(wire.wraps for wire in view.wires) else 0.0
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
    return DiagramLayout(view, scale, symbols, at, areas, max(most - MARGIN, LEAST_WIDTH), lowest + BENEATH)


def _sized(machine: Machine, view: View, box: Box, scale: float) -> Symbol:
    symbol = find_symbol(machine, view.name, box.kind)
    if box.width_mm:
        return symbol._replace(width=box.width_mm * scale, height=box.height_mm * scale)
    return symbol


def _scale(view: View) -> float:
    if not view.areas:
        return view.px_per_mm
    left, top, right, bottom = _extent_mm(view)
    packages = [area.right_mm - area.left_mm for area in view.areas if area.kind == "sip"]
    return max(
        min(view.px_per_mm, MOST_PX / max(right - left, bottom - top)) if packages else view.px_per_mm,
        LEAST_PX / max(right - left, bottom - top),
        LEAST_SIP_PX / min(packages, default=LEAST_SIP_PX),
    )


def _extent_mm(view: View) -> tuple[float, float, float, float]:
    xs = [x for box in view.boxes for x in (box.x_mm - box.width_mm / 2, box.x_mm + box.width_mm / 2)]
    ys = [y for box in view.boxes for y in (box.y_mm - box.height_mm / 2, box.y_mm + box.height_mm / 2)]
    xs += [x for area in view.areas for x in (area.left_mm, area.right_mm)]
    ys += [y for area in view.areas for y in (area.top_mm, area.bottom_mm)]
    return min(xs), min(ys), max(xs), max(ys)
