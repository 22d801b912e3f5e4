"""All-reduce on rings in every dimension: its wiring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernbench.ccl.module import load_algorithm
from kernbench.ccl.topology import SIP_TOPO_MESH, SIP_TOPO_RING, SIP_TOPO_TORUS
from kernbench.ccl.wiring import World, check_wiring

neighbours = load_algorithm("ring_2d_allreduce").neighbours
WORLDS = [  # each with the lengths of the rings of its first lane
    (World(1, SIP_TOPO_RING, 1, 1, 4, 4), {"E": 4, "S": 4}),
    (World(5, SIP_TOPO_RING, 5, 1, 1, 1), {"global_E": 5}),
    (World(6, SIP_TOPO_TORUS, 2, 3, 2, 1), {"E": 2, "global_E": 2, "global_S": 3}),
    (World(6, SIP_TOPO_MESH, 3, 2, 3, 5), {"E": 3, "S": 5, "global_E": 3, "global_S": 2}),
    (World(1, SIP_TOPO_RING, 1, 1, 1, 1), {}),
]


@pytest.mark.parametrize("lane", range(4))
@pytest.mark.parametrize(("world", "lengths"), WORLDS)
def test_every_dimension_is_a_ring(world: World, lengths: dict[str, int], lane: int) -> None:
    world = replace(world, lane=lane)
    wiring = {(rank, cube): neighbours(rank, cube, world) for rank in range(world.ranks) for cube in range(world.cubes)}
    check_wiring("ring_2d_allreduce", wiring)
    turned = {"global_E": lengths.get("global_S", 0), "global_S": lengths.get("global_E", 0)}
    for start, directions in wiring.items():
        forward = {side for side in directions if side.endswith(("E", "S"))}
        assert forward == lengths.keys()
        swapped = "global_S" in lengths and (start[1] + lane) % 2
        for side, length in lengths.items():
            at, seen = start, []
            while at not in seen:
                seen.append(at)
                at = wiring[at][side][:2]
            assert (at, len(seen)) == (start, turned.get(side, length) if swapped else length)


def test_four_cubes_begin_with_four_directions() -> None:
    world = World(15, SIP_TOPO_TORUS, 3, 5, 2, 2)
    firsts = [neighbours(7, cube, world)["global_E"].rank for cube in range(4)]
    assert firsts == [8, 10, 6, 4]  # of SIP (1, 2) in rows of three: east, south, west, north
