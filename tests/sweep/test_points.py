from __future__ import annotations

import numpy as np
import pytest

from kernbench.sweep.points import Points
from tests.sweep.test_table import planned


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
    frame = grid().frame(["M", "topology.hbm.channels", "N"])
    assert frame.drop("key").rows() == [(1, 8, 2), (2, 4, 2), (2, 16, 2)]
    assert len(set(frame["key"])) == 3


def test_each_value_comes_with_the_first_point_that_sets_it() -> None:
    found = grid().first_with_each_value()
    assert [(value, point.index) for value, point in found["topology.hbm.channels"]] == [(4, 1), (16, 2)]


def test_what_is_not_set_makes_no_machine_of_its_own() -> None:
    assert grid().count_machines() == 3
    assert planned(parameters={"M": [1, 2]})[1].count_machines() == 1
