"""Rectangles in the plane of a diagram: occupied areas, and free places for labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from kernbench.report.diagram.svg import Point


class Rectangle(NamedTuple):
    """An upright rectangle in pixels."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, x: float, y: float, width: float, height: float) -> Rectangle:
        """The rectangle of a centre and a size."""
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def holds(self, point: Point) -> bool:
        """Whether a point is inside or on the edge."""
        return self.left <= point[0] <= self.right and self.top <= point[1] <= self.bottom

    def grown(self, by: float) -> Rectangle:
        """The rectangle with a margin on all sides."""
        return Rectangle(self.left - by, self.top - by, self.right + by, self.bottom + by)


def as_array(rectangles: Iterable[Rectangle]) -> np.ndarray:
    """float64[n, 4]"""
    return np.array(list(rectangles), np.float64).reshape(-1, 4)


def crossed(start: Point, end: Point, rectangles: np.ndarray) -> np.ndarray:
    """bool[n] which rectangles (float64[n, 4]) a straight line touches."""
    first, last = np.zeros(len(rectangles)), np.ones(len(rectangles))
    for axis in (0, 1):
        low, high, at = rectangles[:, axis], rectangles[:, axis + 2], start[axis]
        step = end[axis] - at
        if step == 0:
            outside = (at < low) | (at > high)
            first = np.where(outside, 2.0, first)
            continue
        one, other = (low - at) / step, (high - at) / step
        first, last = np.maximum(first, np.minimum(one, other)), np.minimum(last, np.maximum(one, other))
    return first <= last


class Plane:
    """The occupied areas of a diagram, to place labels."""

    def __init__(self, taken: Iterable[Rectangle], lines: Sequence[Sequence[Point]]) -> None:
        self._taken = as_array(taken)
        segments = [(*a, *b) for points in lines for a, b in pairwise(points)]
        self._lines = np.array(segments, np.float64).reshape(-1, 4)

    def place(self, candidates: Sequence[Rectangle]) -> int:
        """Occupy and return the candidate that covers least; of equal ones the first."""
        best, least = 0, (float("inf"), 0)
        for i, one in enumerate(candidates):
            cost = self._cost(one)
            if cost < least:
                best, least = i, cost
            if least == (0.0, 0):
                break
        self._taken = np.vstack([self._taken, candidates[best]])
        return best

    def _cost(self, one: Rectangle) -> tuple[float, int]:
        """The area of boxes and labels that a rectangle covers, and the number of lines."""
        width = np.minimum(self._taken[:, 2], one.right) - np.maximum(self._taken[:, 0], one.left)
        height = np.minimum(self._taken[:, 3], one.bottom) - np.maximum(self._taken[:, 1], one.top)
        covered = float((np.maximum(width, 0) * np.maximum(height, 0)).sum())
        near = self._lines[_near(self._lines, one)]
        hits = sum(bool(crossed((a, b), (c, d), as_array([one]))[0]) for a, b, c, d in near.tolist())
        return round(covered, 3), hits


def _near(lines: np.ndarray, one: Rectangle) -> np.ndarray:
    """bool[n] lines whose bounding rectangle overlaps another."""
    left, right = np.minimum(lines[:, 0], lines[:, 2]), np.maximum(lines[:, 0], lines[:, 2])
    top, bottom = np.minimum(lines[:, 1], lines[:, 3]), np.maximum(lines[:, 1], lines[:, 3])
    return (left <= one.right) & (right >= one.left) & (top <= one.bottom) & (bottom >= one.top)
