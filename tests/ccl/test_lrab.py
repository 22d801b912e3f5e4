"""The default all-reduce: its root, and the routes of its messages."""

from __future__ import annotations

import sys

import pytest

from kernbench.ccl.module import load_algorithm
from kernbench.ccl.plan import Plan
from kernbench.ccl.wiring import OPPOSITE

load_algorithm("lrab_hierarchical_allreduce")
lrab = sys.modules["kernbench_ccl.lrab_hierarchical_allreduce"]
STEP = {"N": (0, -1), "E": (1, 0), "S": (0, 1), "W": (-1, 0)}
MESHES = [(1, 1), (2, 1), (4, 1), (1, 3), (4, 2), (4, 4), (3, 5)]


def towards(cube: int, direction: str, cube_w: int) -> int:
    dx, dy = STEP[direction]
    return cube + dx + dy * cube_w


def hops(root: int, cube_w: int, cube_h: int) -> int:
    """Of the farthest cube, to the root."""
    longest = 0
    for cube in range(cube_w * cube_h):
        at, steps = cube, 0
        while at != root:
            at = towards(at, lrab.way(at, root, cube_w, cube_h)[0], cube_w)
            steps += 1
        longest = max(longest, steps)
    return longest


def test_the_root_is_in_the_centre() -> None:
    assert [lrab.root_of(Plan(), w, h) for w, h in MESHES] == [h // 2 * w + w // 2 for w, h in MESHES]
    assert lrab.root_of(Plan(), 4, 4) == 10
    assert lrab.root_of(Plan(root=15), 4, 4) == 15


def test_from_the_centre_it_is_eight_hops_there_and_back_and_from_the_corner_twelve() -> None:
    assert 2 * hops(10, 4, 4) == 8
    assert 2 * hops(15, 4, 4) == 12


@pytest.mark.parametrize(("cube_w", "cube_h"), MESHES)
def test_every_cube_is_told_by_the_one_it_told(cube_w: int, cube_h: int) -> None:
    for root in range(cube_w * cube_h):
        ways = {cube: lrab.way(cube, root, cube_w, cube_h) for cube in range(cube_w * cube_h)}
        told = {(cube, towards(cube, out, cube_w), out) for cube, (out, _) in ways.items() if out}
        heard = {
            (towards(cube, side, cube_w), cube, OPPOSITE[side])
            for cube, (_, inwards) in ways.items()
            for side in inwards
        }
        assert told == heard
        assert [cube for cube, (out, _) in ways.items() if out is None] == [root]


def test_rows_come_before_the_column_of_the_root() -> None:
    assert lrab.way(8, 10, 4, 4) == ("E", [])
    assert lrab.way(9, 10, 4, 4) == ("E", ["W"])
    assert lrab.way(11, 10, 4, 4) == ("W", [])
    assert lrab.way(2, 10, 4, 4) == ("S", ["W", "E"])
    assert lrab.way(14, 10, 4, 4) == ("N", ["W", "E"])
    assert lrab.way(10, 10, 4, 4) == (None, ["W", "E", "N", "S"])
