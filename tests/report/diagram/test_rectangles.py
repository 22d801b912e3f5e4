"""Rectangles: lines that touch them, and free places."""

from __future__ import annotations

import pytest

from kernbench.report.diagram.rectangles import Plane, Rectangle, as_array, crossed

BOX = Rectangle(10, 10, 20, 20)


@pytest.mark.parametrize(
    ("start", "end", "touches"),
    [
        ((0, 0), (30, 30), True),
        ((0, 15), (30, 15), True),
        ((15, 0), (15, 30), True),
        ((15, 15), (16, 16), True),  # inside
        ((0, 20), (30, 20), True),  # along the edge
        ((0, 21), (30, 21), False),
        ((0, 0), (9, 9), False),  # ends before
        ((0, 15), (30, 60), False),
        ((21, 0), (21, 30), False),
    ],
)
def test_crossed(start: tuple[float, float], end: tuple[float, float], touches: bool) -> None:
    assert crossed(start, end, as_array([BOX])).tolist() == [touches]
    assert crossed(end, start, as_array([BOX])).tolist() == [touches]


def test_sizes() -> None:
    assert Rectangle.around(15, 15, 10, 10) == BOX
    assert BOX.grown(2) == (8, 8, 22, 22)
    assert BOX.holds((10, 20))
    assert not BOX.holds((10, 20.1))


def test_a_label_takes_the_first_place_that_is_free() -> None:
    plane = Plane([BOX], [[(30, 0), (30, 40)]])
    places = [Rectangle.around(x, 15, 6, 6) for x in (18, 30, 40, 50)]
    assert plane.place(places) == 2
    assert plane.place(places) == 3  # the other is taken
    assert plane.place(places[:3]) == 1  # over a line rather than over a box or a label
