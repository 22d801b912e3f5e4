"""The courses of wires between the packages of a tray that is drawn in rows: along the tracks between them, with right angles.

A link from the end of a row to the beginning of the next goes round the row; so does the one that closes a ring. The link
of a PCIe endpoint to the switch goes up beside the column of its package. No two wires share a track.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kernbench.machine.intents import EdgeKind
from kernbench.report.diagram.rectangles import Rectangle
from kernbench.report.diagram.svg import Point

if TYPE_CHECKING:
    from kernbench.machine.view import Wire
    from kernbench.report.diagram.layout import DiagramLayout

OUT = 20.0  # px from a package to its nearest track
BENEATH = 30.0  # px from a package to the track below its label
TRACK = 7.0  # px from one track to the next


class TrayCourses:
    """Finds the courses of the wires that leave a row."""

    def __init__(self, layout: DiagramLayout) -> None:
        self._layout = layout
        found = zip(layout.view.areas, layout.areas, strict=True)
        self._packages = [where for area, where in found if area.kind == "sip"] if layout.view.in_rows else []
        self._top = min((where.top for where in self._packages), default=0.0)
        lefts = [where.left for where in self._packages]
        self._middle = (min(lefts, default=0.0) + max(lefts, default=0.0)) / 2
        self._taken: Counter[tuple[str, int]] = Counter()

    def find(self, wire: Wire) -> tuple[Point, ...] | None:
        """The course of a wire; None if it stays in its row, or if there are no rows."""
        src, dst = self._package(wire.src), self._package(wire.dst)
        if wire.kind == EdgeKind.PCIE and (src is None) != (dst is None):
            endpoint, package, switch = (wire.src, src, wire.dst) if src else (wire.dst, dst, wire.src)
            return self._rise(self._layout.at[endpoint], package, self._layout.at[switch]) if package else None
        if wire.kind != EdgeKind.SIP or src is None or dst is None or src.top == dst.top:
            return None
        forward = self._layout.view.boxes[wire.src].label == "E"
        start, end = (wire.src, wire.dst) if forward else (wire.dst, wire.src)
        return self._go_round(self._layout.at[start], self._layout.at[end], *((src, dst) if forward else (dst, src)))

    def _package(self, box: int) -> Rectangle | None:
        x, y = self._layout.at[box]
        near = (where for where in self._packages if where.grown(1).holds((x, y)))
        return next(near, None)

    def _lane(self, kind: str, place: float) -> float:
        """How far the next free track is from the first one of those that begin at a place."""
        self._taken[kind, round(place)] += 1
        return (self._taken[kind, round(place)] - 1) * TRACK

    def _rise(self, start: Point, package: Rectangle, switch: Point) -> tuple[Point, ...] | None:
        """From an endpoint out of its package, and up between two columns to the switch; None in the first row."""
        if package.top == self._top:
            return None
        x, y = start
        inward = package.left < self._middle
        edge, side = (package.right, 1) if inward else (package.left, -1)
        beside = edge + side * (OUT + self._lane("column", edge))
        above = y - package.top <= package.bottom - y
        leaves = package.top - OUT if above else package.bottom + BENEATH
        leaves += (-1 if above else 1) * self._lane("row", leaves + package.left)
        return start, (x, leaves), (beside, leaves), (beside, self._top - OUT), switch

    def _go_round(self, start: Point, end: Point, package: Rectangle, other: Rectangle) -> tuple[Point, ...]:
        """From the east end of a row below it to the west end of another row; what closes the ring has the outer track."""
        right, track = package.right + OUT, package.bottom + BENEATH
        left = other.left - OUT - (TRACK if other.top < package.top else 0.0)
        return start, (right, start[1]), (right, track), (left, track), (left, end[1]), end
