"""The time model: pieces and links by hand, links that messages share, trees."""

from __future__ import annotations

import pytest

from kernbench.ccl.module import load_algorithm
from kernbench.ccl.time_model import SharedLink, TimeModel
from kernbench.ccl.wiring import World, grid_neighbours
from kernbench.machine import load_machine


def model(
    topology: str = "sip_2x4x4",
    world: World | None = None,
    neighbours=grid_neighbours,
    cubes: range = range(16),
    pes: range = range(1),
    kind: str = "tcm",
    **fields: object,
) -> TimeModel:
    machine = load_machine(topology, {name.replace("__", "."): value for name, value in fields.items()})
    world = world or World(2, 0, 2, 1, 4, 4)
    return TimeModel(machine, neighbours, world, tuple(range(world.ranks)), cubes, pes, kind, "f16", 16)  # pyright: ignore[reportArgumentType]


def test_the_work_for_a_piece_of_four_kib() -> None:
    piece = model().piece(4096)
    assert piece.call == 1
    assert piece.take == 1 + 8
    assert piece.combine == 1 + 16 + 8 + 8  # two operands in, 2,048 elements, one result out
    assert (piece.leave, piece.settle) == (9, 8)
    assert piece.load == piece.store == pytest.approx(1 + 0.5 + 16 + 8, abs=0.1)  # the burst, and the first's commit


def test_slots_in_other_memories_cost_more() -> None:
    sram, hbm = (model(kind=kind).piece(4096) for kind in ("sram", "hbm"))
    assert sram.settle == 4096 / 512 + 4096 / 128 + 2
    assert hbm.settle == 4096 / 256 + 4096 / 256 + 6
    assert sram.take == 1 + sram.settle


def test_a_message_to_the_next_pe_takes_what_the_kernel_language_says() -> None:
    link = model().between((0, 0), (0, 1))
    assert model().flight_ns(link, 4096) == pytest.approx(1 + 9 + 16 + 2 + 8, abs=0.1)


def everyone(ranks: int, cubes: int) -> frozenset[tuple[int, int]]:
    return frozenset((rank, cube) for rank in range(ranks) for cube in range(cubes))


def test_messages_that_share_a_wire_wait_for_one_another() -> None:
    world, slow = World(2, 0, 2, 1, 1, 1), {"pcie_ep__gbs": 32}

    def links() -> tuple[SharedLink, SharedLink]:
        """Of one cube, and of sixteen that are collectives of their own."""
        alone, crowd = (model(world=world, cubes=cubes, **slow) for cubes in (range(1), range(16)))
        return alone.shared(0, 0, "global_E", everyone(2, 1)), crowd.shared(0, 0, "global_E", everyone(2, 1))

    alone, crowd = links()
    assert alone.pace_ns == alone.beta_ns == pytest.approx(1 / 32)
    assert crowd.pace_ns == crowd.beta_ns == pytest.approx(16 / 32)
    slow |= {"pcie_ep__store_and_forward": True}
    alone, crowd = links()
    # Both endpoints store a message, and all links to, between and from them pass 32 GB/s.
    assert alone.pace_ns == alone.beta_ns == pytest.approx(3 / 32)
    assert crowd.pace_ns == pytest.approx(16 / 32)
    assert crowd.beta_ns == pytest.approx(3 * 16 / 32)


def test_only_those_who_send_share_a_wire() -> None:
    found = model(world=World(2, 0, 2, 1, 4, 4), pcie_ep__gbs=32)
    assert found.shared(0, 0, "global_E", everyone(2, 16)).pace_ns == pytest.approx(16 / 32)
    assert found.shared(0, 0, "global_E", frozenset({(0, 0), (1, 0)})).pace_ns == pytest.approx(1 / 32)


def test_of_many_ranks_some_stand_for_all() -> None:
    found = model("tiny", World(20, 0, 20, 1, 1, 1), cubes=range(1), sips__count=20)
    first, last = (found.shared(rank, 0, "global_E", everyone(20, 1)) for rank in (0, 16))
    assert first == last
    few = found.shared(17, 0, "global_E", frozenset({(17, 0)}))  # whom none of these stands for
    assert few.alpha_ns == pytest.approx(first.alpha_ns, rel=0.1)


def test_lanes_use_all_links_between_sips() -> None:
    """Cubes go round a torus on four ways, so each of its links has a quarter of the messages."""
    fields = {"sips__count": 16, "sips__topology": "torus_2d", "sips__w": 4, "sips__h": 4, "sips__wiring": "direct"}
    world, senders = World(16, 1, 4, 4, 4, 4), everyone(16, 16)
    slow = {"sip_link__gbs": 1, **fields}
    one_way = model(world=world, **slow).shared(0, 0, "global_E", senders)
    lanes = model(world=world, neighbours=load_algorithm("ring_2d_allreduce").neighbours, **slow)
    assert lanes.shared(0, 0, "global_E", senders).pace_ns == pytest.approx(one_way.pace_ns / 4)


HOP = SharedLink(alpha_ns=10.0, beta_ns=0.01, pace_ns=0.01, flit_ns=0.0, own_ns=0.01, wire=0)
FLIGHT = 1 + 9 + 10 + 40.96 + 8


def test_a_tree_is_its_levels_and_the_pace_of_its_widest_node() -> None:
    one = model()
    piece = one.piece(4096)
    turn = piece.take + piece.combine
    up = one.tree_ns([HOP], 3, 2, 5, 4096, 4)
    assert up == pytest.approx(piece.load + 3 * (FLIGHT + turn) + turn + 4 * (piece.load + 1 + 2 * turn))
    down = one.tree_ns([HOP], 3, 2, 5, 4096, 4, add=False)
    assert down == pytest.approx(piece.load + 3 * (FLIGHT + piece.take) + 50.96 + 4 * 2 * 50.96)
    assert one.tree_ns([], 0, 2, 5, 4096, 4) == 0
