from __future__ import annotations

import numpy as np
import pytest

from kernbench.sweep.design.points import Points
from tests.sweep.results.test_table import planned


def grid() -> Points:
    return planned(parameters={"M": [1, 2], "topology.hbm.channels": {"values": [4, 16], "when": "M == 2"}})[1]


def test_points_are_a_sequence() -> None:
    points = grid()
    assert len(points) == 3
    assert [point.parameters["M"] for point in points] == [1, 2, 2]
    assert points[-1] == list(points)[2]
    assert list(points[1:]) == list(points)[1:]
    with pytest.raises(IndexError):
        points[3]


def test_some_of_them_keep_their_place_and_key() -> None:
    points = grid()
    some = points.take(np.array([False, True, True]))
    assert [point.index for point in some] == [1, 2]
    assert some.keys.tolist() == points.keys.tolist()[1:]
    assert some[0].key.encode() == some.keys[0]


def test_columns_of_all_at_once() -> None:
    frame = grid().frame(["M", "topology.hbm.channels", "N"], np.array([2, 0]))
    assert frame.rows() == [(2, 16, 2), (1, 8, 2)]


def test_a_column_is_of_one_type_whichever_points_are_shown() -> None:
    _, points = planned(
        parameters={"M": [1, 2], "topology.hbm.channels": [1, 1.5]}, zip=[["M", "topology.hbm.channels"]]
    )
    assert [points.frame(["topology.hbm.channels"], np.array([i])).rows() for i in range(2)] == [[(1.0,)], [(1.5,)]]


def test_points_are_found_by_their_keys() -> None:
    points = grid()
    find = points.take(np.array([2, 0])).finder()
    assert find(points.keys.astype(str).astype(object)).tolist() == [1, -1, 0]
    assert points.take(np.zeros(0, int)).finder()(points.keys).tolist() == [-1] * 3


def test_each_value_comes_with_the_first_point_that_sets_it() -> None:
    found = grid().first_with_each_value()
    assert found["topology.hbm.channels"] == [(4, 1), (16, 2)]


def test_what_is_not_set_makes_no_machine_of_its_own() -> None:
    assert grid().count_machines() == 3
    assert planned(parameters={"M": [1, 2]})[1].count_machines() == 1
