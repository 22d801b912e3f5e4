"""Rank orders: a line over all participants (SIP by SIP, cubes in boustrophedon order), trees on it, rings of a grid."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from kernbench.ccl.topology import SIP_TOPO_RING
from kernbench.ccl.wiring import Peer, World


class Axis(NamedTuple):
    """A ring of equals that a member of a grid is in: its length, the place in it, and the members after and before."""

    length: int
    at: int
    after: int
    before: int


def turn(cube: int, cube_w: int) -> int:
    """The position of a cube in its SIP's line, or the cube at a position: the map is its own inverse."""
    row, column = divmod(cube, cube_w)
    return row * cube_w + (cube_w - 1 - column if row % 2 else column)


def position(rank: int, cube: int, cube_w: int, cube_h: int) -> int:
    """The position of a participant in the line of all."""
    cubes = cube_w * cube_h
    return rank * cubes + turn(cube % cubes, cube_w)


def peer_at(at: int, world: World, back: str) -> Peer:
    """The participant at a position of the line, as a neighbour whose direction `back` leads back."""
    rank, cube = divmod(at, world.cubes)
    return Peer(rank, turn(cube, world.cube_w), back)


def level(cubes: int) -> str:
    """The level of directions that a line uses: between SIPs if one cube of each takes part, else between cubes."""
    return "global_" if cubes == 1 else ""


def ring_neighbours(rank: int, cube: int, world: World) -> dict[str, Peer]:
    """East to the next of the line, west to the previous one, closed to a ring; none if there is one participant."""
    count, at = world.ranks * world.cubes, position(rank, cube, world.cube_w, world.cube_h)
    if count == 1:
        return {}
    east, west = f"{level(world.cubes)}E", f"{level(world.cubes)}W"
    return {east: peer_at((at + 1) % count, world, west), west: peer_at((at - 1) % count, world, east)}


def tree_around(at: int, count: int) -> dict[str, tuple[int, str]]:
    """Neighbours in a binary tree of `count`, numbered by level: N the parent, W and E the children; each with its way back."""
    found = {"N": ((at - 1) // 2, "W" if at % 2 else "E")} if at else {}
    children = (("W", 2 * at + 1), ("E", 2 * at + 2))
    return found | {side: (child, "N") for side, child in children if child < count}


def tree_neighbours(rank: int, cube: int, world: World) -> dict[str, Peer]:
    """A binary tree of the cubes of each SIP, in the order of its line, and one of the ranks between their roots."""
    at = turn(cube, world.cube_w)
    within = tree_around(at, world.cubes).items()
    found = {side: Peer(rank, turn(other, world.cube_w), back) for side, (other, back) in within}
    if at == 0:
        between = tree_around(rank, world.ranks).items()
        found |= {f"global_{side}": Peer(other, cube, f"global_{back}") for side, (other, back) in between}
    return found


@cache
def grid_cycle(w: int, h: int) -> tuple[int, ...]:
    """The members of a grid, row by row, in the order of a closed way through all of them.

    Where a side is even and none is 1, all steps are to a neighbour in the grid: the first column is the way back. Otherwise
    the last step, from the last row to the first, is not.
    """
    if h % 2 and w % 2 == 0:
        return _column_by_column(w, h)
    if h % 2 or w == 1:
        return tuple(row * w + (w - 1 - x if row % 2 else x) for row in range(h) for x in range(w))
    there = [row * w + (w - x if row % 2 else x) for row in range(h) for x in range(1, w)]
    return (0, *there, *(row * w for row in range(h - 1, 0, -1)))


def _column_by_column(w: int, h: int) -> tuple[int, ...]:
    """The members of a grid in the order of the cycle of that grid turned on its side."""
    return tuple(member % h * w + member // h for member in grid_cycle(h, w))


def cycle_axis(member: int, w: int, h: int, lane: int = 0) -> Axis:
    """The ring through a whole grid; other lanes go through it column by column, and both ways the other way round."""
    order = grid_cycle(w, h)
    if lane % 2:
        order = _column_by_column(w, h)
    return _axis(order, order.index(member), backwards=lane // 2 % 2 == 1)


def grid_axes(rank: int, lane: int, kind: int, sip_w: int, sip_h: int) -> list[Axis]:
    """The rings of SIPs through a rank, in the order in which a lane takes them: that of rows and of columns, or the only one.

    Lanes begin with different ones, and every second time go round backwards: four of them use all links of a torus.
    """
    if kind == SIP_TOPO_RING:
        sip_w, sip_h = sip_w * sip_h, 1
    x, y = rank % sip_w, rank // sip_w
    lines = [(x, tuple(range(y * sip_w, (y + 1) * sip_w))), (y, tuple(range(x, sip_w * sip_h, sip_w)))]
    lines = [(at, members) for at, members in lines if len(members) > 1]
    first = lane % len(lines) if lines else 0
    return [_axis(members, at, backwards=lane // len(lines) % 2 == 1) for at, members in lines[first:] + lines[:first]]


def _axis(members: tuple[int, ...], at: int, *, backwards: bool) -> Axis:
    count = len(members)
    after, before = members[(at + 1) % count], members[at - 1]
    return Axis(count, -at % count, before, after) if backwards else Axis(count, at, after, before)
