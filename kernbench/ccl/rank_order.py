"""Rank orders: a line over all participants (SIP by SIP, cubes in boustrophedon order), and rings and trees on it."""

from __future__ import annotations

from kernbench.ccl.wiring import Peer, World


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
