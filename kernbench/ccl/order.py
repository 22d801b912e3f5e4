"""All participants of a collective in one line: SIP after SIP, in each the cubes row by row, every other row backwards."""

from __future__ import annotations

from kernbench.ccl.wiring import Peer, World


def turn(cube: int, cube_w: int) -> int:
    """The position of a cube in its SIP's line, or the cube at a position: the two are each other's inverse."""
    row, column = divmod(cube, cube_w)
    return row * cube_w + (cube_w - 1 - column if row % 2 else column)


def position(rank: int, cube: int, cube_w: int, cube_h: int) -> int:
    """Where a participant stands in the line of all."""
    cubes = cube_w * cube_h
    return rank * cubes + turn(cube % cubes, cube_w)


def peer_at(at: int, world: World, back: str) -> Peer:
    """The participant at a position of the line, as a neighbour to whom `back` leads back."""
    rank, cube = divmod(at, world.cubes)
    return Peer(rank, turn(cube, world.cube_w), back)


def level(cubes: int) -> str:
    """The level of directions that a line uses: between SIPs if one cube of each takes part, else between cubes."""
    return "global_" if cubes == 1 else ""


def ring_neighbours(rank: int, cube: int, world: World) -> dict[str, Peer]:
    """East to the next of the line, west to the one before, closed to a ring; none for a participant alone."""
    count, at = world.ranks * world.cubes, position(rank, cube, world.cube_w, world.cube_h)
    if count == 1:
        return {}
    east, west = f"{level(world.cubes)}E", f"{level(world.cubes)}W"
    return {east: peer_at((at + 1) % count, world, west), west: peer_at((at - 1) % count, world, east)}


def tree_neighbours(rank: int, cube: int, world: World) -> dict[str, Peer]:
    """North to the parent, west and east to the children, of a binary tree in the order of the line."""
    count, at = world.ranks * world.cubes, position(rank, cube, world.cube_w, world.cube_h)
    north, west, east = (level(world.cubes) + side for side in "NWE")
    found = {} if at == 0 else {north: peer_at((at - 1) // 2, world, west if at % 2 else east)}
    for side, child in ((west, 2 * at + 1), (east, 2 * at + 2)):
        if child < count:
            found[side] = peer_at(child, world, north)
    return found
