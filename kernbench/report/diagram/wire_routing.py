"""Route the wires of a diagram: straight if no box is in between, else around it.

Boxes have the places of the machine, so one may be on the straight line between two others. Such a wire turns once, at a
corner of the box in between, if that clears all boxes; else it runs parallel to the straight line, at the least distance that
does. So it cannot be mistaken for a wire that ends at that box.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import hypot

import numpy as np

from kernbench.report.diagram.rectangles import crossed
from kernbench.report.diagram.svg import Point

SIDEWAYS = range(10, 161, 5)  # px
APART = 4.0  # px between wires that run along each other
CORNER = 2.0  # px between a corner and a wire that turns there
SLANTS = (14.0, 30.0, 6.0)  # px along the wire, to get beside it


def find_course(
    start: Point,
    end: Point,
    boxes: np.ndarray,
    own: Sequence[int],
    lines: Sequence[tuple[Point, Point]],
    laid: Sequence[Sequence[Point]] = (),
) -> tuple[Point, ...]:
    """The points of a wire past boxes (float64[n, 4]) except its `own`; straight if there is no path around them.

    Of both sides it takes the one where it crosses fewer of the straight `lines` between boxes, and it does not lie on a
    wire that is `laid` already.
    """
    hit = crossed(start, end, boxes)
    hit[list(own)] = False
    if not hit.any() or start == end:
        return start, end
    in_the_way, obstacles = boxes[hit], np.delete(boxes, list(own), axis=0)
    turned = [course for course in _around(start, end, in_the_way) if not _meets(course, obstacles)]
    if turned:
        return min(turned, key=_length)
    length = _length((start, end))
    along = ((end[0] - start[0]) / length, (end[1] - start[1]) / length)
    for aside in SIDEWAYS:
        courses = [
            _beside(start, end, along, side * aside, min(slant, length / 3)) for slant in SLANTS for side in (1, -1)
        ]
        free = [
            course
            for course in courses
            if not _meets(course, obstacles) and not any(_lies_on(course, other) for other in laid)
        ]
        if free:
            return min(free, key=lambda course: sum(_crosses(course, line) for line in lines))
    return start, end


def _meets(course: Sequence[Point], obstacles: np.ndarray) -> bool:
    return any(crossed(a, b, obstacles).any() for a, b in pairwise(course))


def _lies_on(course: Sequence[Point], other: Sequence[Point]) -> bool:
    """Whether the long stretches of two courses run along each other, closer than `APART`."""
    if len(other) < 4:
        return False
    (a, b), (c, d) = course[1:3], other[1:3]
    length = _length((a, b))
    near = all(abs(_turn(a, b, end)) < APART * length for end in (c, d))
    shares = [((end[0] - a[0]) * (b[0] - a[0]) + (end[1] - a[1]) * (b[1] - a[1])) / length**2 for end in (c, d)]
    return near and max(shares) > 0 and min(shares) < 1


def _crosses(course: Sequence[Point], line: tuple[Point, Point]) -> bool:
    """Whether the middle of a course cuts a line between its ends."""
    a, b = course[1], course[-2]
    c, d = line
    return _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0


def _turn(a: Point, b: Point, c: Point) -> float:
    """The side of the line from a to b on which a point is: positive or negative."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _around(start: Point, end: Point, in_the_way: np.ndarray) -> Iterable[tuple[Point, ...]]:
    """The courses over one corner of a box."""
    for left, top, right, bottom in in_the_way.tolist():
        for x in (left - CORNER, right + CORNER):
            for y in (top - CORNER, bottom + CORNER):
                yield start, (x, y), end


def _length(course: Sequence[Point]) -> float:
    return sum(hypot(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(course))


def _beside(start: Point, end: Point, along: Point, sideways: float, slant: float) -> tuple[Point, ...]:
    across = (-along[1] * sideways, along[0] * sideways)
    return (
        start,
        (start[0] + along[0] * slant + across[0], start[1] + along[1] * slant + across[1]),
        (end[0] - along[0] * slant + across[0], end[1] - along[1] * slant + across[1]),
        end,
    )
