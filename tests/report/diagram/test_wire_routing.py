"""Routes of wires in a diagram."""

from __future__ import annotations

from itertools import pairwise

from kernbench.report.diagram.rectangles import Rectangle, as_array, crossed
from kernbench.report.diagram.wire_routing import find_course

ENDS = [Rectangle.around(0, 0, 10, 10), Rectangle.around(200, 0, 10, 10)]
A, B = (0.0, 0.0), (200.0, 0.0)


def test_straight_where_nothing_stands_in_the_way() -> None:
    assert find_course(A, B, as_array(ENDS), [0, 1], []) == (A, B)


def test_ends_in_one_place_have_a_course() -> None:
    assert find_course(A, A, as_array([*ENDS, Rectangle(-50, -50, 50, 50)]), [0, 1], []) == (A, A)


def test_over_a_corner_if_one_turn_is_enough() -> None:
    boxes = as_array([*ENDS, Rectangle(90, -4, 110, 100)])
    course = find_course(A, B, boxes, [0, 1], [])
    assert course == (A, (88, -6), B) or course == (A, (112, -6), B)
    assert not any(crossed(a, b, boxes[2:]).any() for a, b in pairwise(course))


def test_beside_the_straight_line_where_it_is_not() -> None:
    boxes = as_array([*ENDS, Rectangle(20, -40, 180, 30)])
    assert find_course(A, B, boxes, [0, 1], []) == (A, (14, 35), (186, 35), B)


def test_on_the_side_with_fewer_crossings() -> None:
    boxes = as_array([*ENDS, Rectangle(20, -30, 180, 30)])
    below = [((100.0, 0.0), (100.0, 90.0))]
    above = [((100.0, 0.0), (100.0, -90.0))]
    assert find_course(A, B, boxes, [0, 1], below)[1] == (14, -35)
    assert find_course(A, B, boxes, [0, 1], above)[1] == (14, 35)


def test_not_on_another_wire() -> None:
    boxes = as_array([*ENDS, Rectangle(20, -30, 180, 30)])
    first = find_course(A, B, boxes, [0, 1], [])
    second = find_course(A, B, boxes, [0, 1], [], [first])
    third = find_course(A, B, boxes, [0, 1], [], [first, second])
    assert [course[1] for course in (first, second, third)] == [(14, 35), (14, -35), (14, 40)]


def test_straight_if_there_is_no_way_around() -> None:
    wall = Rectangle(90, -1000, 110, 1000)
    assert find_course(A, B, as_array([*ENDS, wall]), [0, 1], []) == (A, B)
