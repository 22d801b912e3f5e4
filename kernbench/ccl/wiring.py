"""Wiring of collectives: directions of a PE and the neighbours to which they lead.

There are three levels of four directions each: `N E S W` between cubes, `intra_…` between the PEs of a cube, `global_…`
between SIPs. A level leads to the place of the same number on the others: the same PE of the next cube, the same cube and
PE of the next SIP. An algorithm module may redefine these directions with a function `neighbours`, and have queues to as many
ranks as it likes in the directions `ahead_1`, `ahead_2` … A group may have queues between all PEs of a cube, `intra_ahead_1` …
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kernbench.ccl.topology import SIP_TOPO_MESH, SIP_TOPO_RING
from kernbench.errors import InputError

OPPOSITE = {"N": "S", "S": "N", "E": "W", "W": "E"}
LEVELS = ("", "intra_", "global_")
DIRECTIONS = tuple(level + name for level in LEVELS for name in OPPOSITE)
AHEAD = "ahead_"  # with a number: that many ranks ahead, for algorithms that have a queue to each
INTRA_AHEAD = "intra_ahead_"  # that many PEs of the cube ahead, where each has a queue to every other


class Peer(NamedTuple):
    """The neighbour in a direction: its rank and cube, and its direction that leads back."""

    rank: int
    cube: int
    back: str


@dataclass(frozen=True, slots=True)
class World:
    """The participants of a collective: `ranks` SIPs in a grid, `cubes` of a mesh in each.

    `lane` tells collectives apart that go on side by side: of a PE it is its number, and where each cube is a collective of
    its own, that of the cube and of the PE in sum. They may take different ways, so that all links are in use.
    """

    ranks: int
    kind: int
    sip_w: int
    sip_h: int
    cube_w: int
    cube_h: int
    lane: int = 0

    @property
    def cubes(self) -> int:
        """The number of participating cubes of a SIP."""
        return self.cube_w * self.cube_h

    def beside(self, cube: int, pe: int) -> World:
        """The world as a working PE of a cube sees it."""
        return replace(self, lane=pe + (cube if self.cubes == 1 else 0))


Neighbours = Callable[[int, int, World], Mapping[str, Peer]]  # (rank, cube, world) → direction → peer


def grid_neighbours(rank: int, cube: int, world: World) -> dict[str, Peer]:
    """The neighbours in the mesh of cubes, and among the SIPs by their topology; a PE is never its own neighbour."""
    x, y = cube % world.cube_w, cube // world.cube_w
    found = {
        name: Peer(rank, row * world.cube_w + column, OPPOSITE[name])
        for name, (column, row) in _around(x, y).items()
        if 0 <= column < world.cube_w and 0 <= row < world.cube_h
    }
    for name, other in _sips_around(rank, world).items():
        if other != rank:
            found[f"global_{name}"] = Peer(other, cube, f"global_{OPPOSITE[name]}")
    return found


def row_of_pes(pes: int) -> int:
    """The number of PEs in a row of a cube: half of them, all if the number is odd."""
    return pes // 2 if pes % 2 == 0 else pes


def intra_neighbours(pe: int, pes: int) -> dict[str, tuple[int, str]]:
    """The neighbours of a PE in its cube, a mesh of two rows (or one), by direction: PE and direction that leads back."""
    w = row_of_pes(pes)
    return {
        f"intra_{name}": (row * w + column, f"intra_{OPPOSITE[name]}")
        for name, (column, row) in _around(pe % w, pe // w).items()
        if 0 <= column < w and 0 <= row < pes // w
    }


def all_of_cube(pe: int, pes: int) -> dict[str, tuple[int, str]]:
    """All other PEs of a cube, by direction: PE and direction that leads back."""
    return {f"{INTRA_AHEAD}{ahead}": ((pe + ahead) % pes, f"{INTRA_AHEAD}{pes - ahead}") for ahead in range(1, pes)}


def _around(x: int, y: int) -> dict[str, tuple[int, int]]:
    return {"N": (x, y - 1), "E": (x + 1, y), "S": (x, y + 1), "W": (x - 1, y)}


def _sips_around(rank: int, world: World) -> dict[str, int]:
    """The neighbours of a rank in a ring, mesh or torus."""
    if world.kind == SIP_TOPO_RING:
        return {"E": (rank + 1) % world.ranks, "W": (rank - 1) % world.ranks}
    w, h = world.sip_w, world.sip_h
    found: dict[str, int] = {}
    for name, (column, row) in _around(rank % w, rank // w).items():
        if world.kind == SIP_TOPO_MESH and not (0 <= column < w and 0 <= row < h):
            continue
        found[name] = row % h * w + column % w
    return found


def _is_direction(name: str) -> bool:
    return name in DIRECTIONS or (name.startswith(AHEAD) and name.removeprefix(AHEAD).isdecimal())


def check_wiring(name: str, wiring: Mapping[tuple[int, int], Mapping[str, Peer]]) -> None:
    """Check that each direction is known and leads back. Errors: InputError naming both ends of the first that does not.

    `wiring` is by (rank, cube); `name` is the module that defined it.
    """
    for (rank, cube), directions in wiring.items():
        for direction, peer in directions.items():
            here, there = f"{direction!r} of cube {cube} of rank {rank}", f"cube {peer.cube} of rank {peer.rank}"
            for used in (direction, peer.back):
                if not _is_direction(used):
                    raise InputError(
                        f"algorithm {name!r} uses the direction {used!r} in {here}; known: {', '.join(DIRECTIONS)}"
                    )
            back = wiring.get((peer.rank, peer.cube), {}).get(peer.back)
            if back is None or (back.rank, back.cube, back.back) != (rank, cube, direction):
                leads = f"leads to cube {back.cube} of rank {back.rank}" if back else "leads nowhere"
                raise InputError(
                    f"algorithm {name!r}: {here} leads to {there}, whose {peer.back!r} {leads}; "
                    "let every direction lead back"
                )
