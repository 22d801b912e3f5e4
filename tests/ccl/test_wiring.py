"""Neighbours of PEs by direction."""

from __future__ import annotations

import pytest

from kernbench.ccl.module import load_algorithm
from kernbench.ccl.rank_order import position, ring_neighbours, tree_neighbours, turn
from kernbench.ccl.topology import SIP_TOPO_MESH, SIP_TOPO_RING, SIP_TOPO_TORUS
from kernbench.ccl.wiring import Peer, World, check_wiring, grid_neighbours, intra_neighbours
from kernbench.errors import InputError

WORLDS = [
    World(ranks, kind, w, h, cube_w, cube_h)
    for kind, ranks, w, h in (
        (SIP_TOPO_RING, 1, 1, 1),
        (SIP_TOPO_RING, 2, 2, 1),
        (SIP_TOPO_RING, 5, 5, 1),
        (SIP_TOPO_TORUS, 6, 2, 3),
        (SIP_TOPO_MESH, 6, 3, 2),
        (SIP_TOPO_TORUS, 9, 3, 3),
    )
    for cube_w, cube_h in ((1, 1), (2, 1), (4, 4))
]


def wire(neighbours, world: World) -> dict[tuple[int, int], dict[str, Peer]]:
    return {(r, c): neighbours(r, c, world) for r in range(world.ranks) for c in range(world.cubes)}


@pytest.mark.parametrize("world", WORLDS, ids=str)
@pytest.mark.parametrize(
    "neighbours",
    [
        grid_neighbours,
        ring_neighbours,
        tree_neighbours,
        load_algorithm("ring_allreduce").neighbours,
        load_algorithm("rhd_allreduce").neighbours,
    ],
)
def test_every_direction_leads_back_and_to_another(neighbours, world: World) -> None:
    wiring = wire(neighbours, world)
    check_wiring("it", wiring)
    for place, directions in wiring.items():
        assert all((peer.rank, peer.cube) != place for peer in directions.values())


def test_a_torus_wraps_and_a_mesh_ends() -> None:
    torus, mesh = (grid_neighbours(0, 0, World(9, kind, 3, 3, 1, 1)) for kind in (SIP_TOPO_TORUS, SIP_TOPO_MESH))
    assert {name: peer.rank for name, peer in torus.items()} == {
        "global_N": 6,
        "global_E": 1,
        "global_S": 3,
        "global_W": 2,
    }
    assert {name: peer.rank for name, peer in mesh.items()} == {"global_E": 1, "global_S": 3}


def test_the_ring_visits_all_and_steps_between_neighbours_within_a_sip() -> None:
    world = World(3, SIP_TOPO_RING, 3, 1, 4, 4)
    at, seen = (0, 0), []
    for _ in range(48):
        seen.append(at)
        peer = ring_neighbours(*at, world)["E"]
        if peer.rank == at[0]:
            (y, x), (to_y, to_x) = divmod(at[1], 4), divmod(peer.cube, 4)
            assert abs(y - to_y) + abs(x - to_x) == 1
        at = (peer.rank, peer.cube)
    assert at == (0, 0)
    assert len(set(seen)) == 48
    assert [position(*place, 4, 4) for place in seen] == list(range(48))
    assert [turn(turn(cube, 4), 4) for cube in range(16)] == list(range(16))


def test_pes_of_a_cube_are_two_rows() -> None:
    assert intra_neighbours(0, 8) == {"intra_E": (1, "intra_W"), "intra_S": (4, "intra_N")}
    assert intra_neighbours(5, 8) == {
        "intra_N": (1, "intra_S"),
        "intra_E": (6, "intra_W"),
        "intra_W": (4, "intra_E"),
    }
    assert intra_neighbours(0, 1) == {}
    assert intra_neighbours(1, 3) == {"intra_E": (2, "intra_W"), "intra_W": (0, "intra_E")}


def test_an_unknown_direction() -> None:
    with pytest.raises(InputError) as error:
        check_wiring("mine", {(0, 0): {"up": Peer(1, 0, "S")}, (1, 0): {}})
    assert str(error.value) == (
        "algorithm 'mine' uses the direction 'up' in 'up' of cube 0 of rank 0; known: N, S, E, W, intra_N, intra_S, "
        "intra_E, intra_W, global_N, global_S, global_E, global_W"
    )


def test_a_direction_that_does_not_lead_back() -> None:
    with pytest.raises(InputError) as error:
        check_wiring("mine", {(0, 0): {"E": Peer(1, 0, "W")}, (1, 0): {}})
    assert str(error.value) == (
        "algorithm 'mine': 'E' of cube 0 of rank 0 leads to cube 0 of rank 1, whose 'W' leads nowhere; "
        "let every direction lead back"
    )
