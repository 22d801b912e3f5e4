"""The time model: pieces and links by hand, links that messages share, rings and trees."""

from __future__ import annotations

import pytest

from kernbench.ccl.module import load_algorithm
from kernbench.ccl.time_model import SharedLink, TimeModel, overlapped_ns
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


def test_messages_that_share_a_wire_wait_for_one_another() -> None:
    world, slow = World(2, 0, 2, 1, 1, 1), {"pcie_ep__gbs": 32}
    alone, crowd = (model(world=world, cubes=cubes, **slow).crowd("global_E") for cubes in (range(1), range(16)))
    assert len(alone) == len(crowd) == 2
    assert alone[0].pace_ns == alone[0].beta_ns == pytest.approx(1 / 32)
    assert crowd[0].pace_ns == crowd[0].beta_ns == pytest.approx(16 / 32)
    slow |= {"pcie_ep__store_and_forward": True}
    alone, crowd = (model(world=world, cubes=cubes, **slow).crowd("global_E") for cubes in (range(1), range(16)))
    # Both endpoints store a message, and all links to, between and from them pass 32 GB/s.
    assert alone[0].pace_ns == alone[0].beta_ns == pytest.approx(3 / 32)
    assert crowd[0].pace_ns == pytest.approx(16 / 32)
    assert crowd[0].beta_ns == pytest.approx(3 * 16 / 32)


def test_of_many_ranks_some_stand_for_all() -> None:
    world = World(20, 0, 20, 1, 1, 1)
    found = model("tiny", world, cubes=range(1), sips__count=20)
    assert len(found.crowd("global_E")) == 4
    (ring,) = found.rings("global_E")
    steps = found.ring_ns([ring], 19, 1, 4096, 4, 5.0, 2.0)
    assert steps == pytest.approx(19 * (found.flight_ns(ring[0], 4096) + 5) + 2, rel=0.01)


def test_links_by_ring() -> None:
    rings = model(neighbours=load_algorithm("ring_2d_allreduce").neighbours)
    assert [len(ring) for ring in rings.rings("E")] == [4] * 4
    assert [len(ring) for ring in rings.rings("global_E")] == [2] * 16
    (line,) = model(neighbours=load_algorithm("ring_allreduce").neighbours).rings("E")
    assert len(line) == 16
    assert sorted({round(link.alpha_ns) for link in line}) == [
        16,
        49,
    ]  # back from the last row to the first is three hops


HOP = SharedLink(alpha_ns=10.0, beta_ns=0.01, pace_ns=0.01, flit_ns=0.0)
FLIGHT = 1 + 9 + 10 + 40.96 + 8


def test_a_circulation_of_one_piece_is_its_hops() -> None:
    found = model().ring_ns([[HOP] * 4], 3, 1, 4096, 4, 5.0, 2.0)
    assert found == pytest.approx(3 * (FLIGHT + 5) + 2)
    slow = HOP._replace(alpha_ns=30.0)
    assert model().ring_ns([[HOP, HOP, HOP, slow]], 3, 1, 4096, 4, 5.0, 2.0) == pytest.approx(found + 20)


def test_a_circulation_of_many_pieces_is_the_work_of_the_slowest() -> None:
    busy = model().ring_ns([[HOP] * 4], 3, 100, 4096, 4, 50.0, 50.0)
    assert busy == pytest.approx(FLIGHT + 299 * 100 + 50)
    sends = model().ring_ns([[HOP] * 4], 3, 100, 4096, 4, 1.0, 1.0, 30.0)
    assert sends == pytest.approx(FLIGHT + 299 * (10 + 40.96 + 30) + 1)
    assert model().ring_ns([], 0, 3, 4096, 4, 1.0, 1.0) == 0


def test_one_slot_waits_for_its_credit() -> None:
    found = model().ring_ns([[HOP] * 4], 3, 100, 4096, 1, 1.0, 1.0)
    assert found == pytest.approx(FLIGHT + 299 * (FLIGHT + 1 + 10 + 0.16) + 1)


def test_a_tree_is_its_levels_and_the_pace_of_its_widest_node() -> None:
    one = model()
    piece = one.piece(4096)
    turn = piece.take + piece.combine
    up = one.tree_ns([HOP], 3, 2, 5, 4096, 4)
    assert up == pytest.approx(piece.load + 3 * (FLIGHT + turn) + turn + 4 * (piece.load + 1 + 2 * turn))
    down = one.tree_ns([HOP], 3, 2, 5, 4096, 4, add=False)
    assert down == pytest.approx(piece.load + 3 * (FLIGHT + piece.take) + 50.96 + 4 * 2 * 50.96)
    assert one.tree_ns([], 0, 2, 5, 4096, 4) == 0


def test_batches_overlap() -> None:
    assert overlapped_ns([10, 12, 4], [7, 20, 5]) == 10 + 12 + 20 + 5
    assert overlapped_ns([10], [7]) == 17
    assert overlapped_ns([], []) == 0
