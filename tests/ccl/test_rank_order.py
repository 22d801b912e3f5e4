"""Rank orders: closed ways through grids, and the rings of SIPs that lanes take."""

from __future__ import annotations

from itertools import pairwise, product

import pytest

from kernbench.ccl.rank_order import cycle_axis, grid_axes, grid_cycle
from kernbench.ccl.topology import SIP_TOPO_RING, SIP_TOPO_TORUS


def steps(order: tuple[int, ...], w: int) -> list[int]:
    """The distance in the grid of each step of a closed way."""
    places = [divmod(member, w) for member in (*order, order[0])]
    return [abs(a[0] - b[0]) + abs(a[1] - b[1]) for a, b in pairwise(places)]


@pytest.mark.parametrize(("w", "h"), [*product(range(1, 7), repeat=2), (1, 13)])
def test_a_cycle_goes_through_all_and_from_neighbour_to_neighbour_where_it_can(w: int, h: int) -> None:
    order = grid_cycle(w, h)
    assert sorted(order) == list(range(w * h))
    assert set(steps(order, w)[:-1]) <= {1}
    if min(w, h) > 1 and w * h % 2 == 0:
        assert steps(order, w)[-1] == 1


@pytest.mark.parametrize("lane", range(4))
@pytest.mark.parametrize(("w", "h"), [(2, 4), (3, 5), (1, 5), (1, 1)])
def test_members_of_a_cycle_agree_on_their_places(w: int, h: int, lane: int) -> None:
    for member in range(w * h):
        axis = cycle_axis(member, w, h, lane)
        after = cycle_axis(axis.after, w, h, lane)
        assert (axis.length, after.at, after.before) == (w * h, (axis.at + 1) % (w * h), member)


@pytest.mark.parametrize("lane", range(5))
@pytest.mark.parametrize(("kind", "w", "h"), [(SIP_TOPO_TORUS, 2, 4), (SIP_TOPO_TORUS, 3, 5), (SIP_TOPO_RING, 7, 1)])
def test_members_of_the_rings_of_a_lane_agree_on_their_places(kind: int, w: int, h: int, lane: int) -> None:
    for rank in range(w * h):
        for i, axis in enumerate(grid_axes(rank, lane, kind, w, h)):
            after = grid_axes(axis.after, lane, kind, w, h)[i]
            assert (after.length, after.at, after.before) == (axis.length, (axis.at + 1) % axis.length, rank)


def test_rings_of_one_are_left_out() -> None:
    assert [axis.length for axis in grid_axes(3, 1, SIP_TOPO_TORUS, 1, 5)] == [5]
    assert grid_axes(0, 3, SIP_TOPO_TORUS, 1, 1) == []


def test_lanes_take_every_direction_first() -> None:
    firsts = {grid_axes(4, lane, SIP_TOPO_TORUS, 3, 3)[0].after for lane in range(4)}
    assert firsts == {5, 7, 3, 1}
    assert {grid_axes(4, lane, SIP_TOPO_RING, 9, 1)[0].after for lane in range(4)} == {5, 3}
