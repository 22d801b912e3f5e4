"""Bounds of tasks: the bytes over each cut by hand, the least distance, bandwidths as communication libraries define them."""

from __future__ import annotations

import pytest

from kernbench.ccl.module import COLLECTIVES
from kernbench.ccl.task_bound import Group, buffer_bytes, bus_factor, find_demand, find_task_bound
from kernbench.machine import load_machine

N = 1 << 20


def members(sips: int = 1, cubes: int = 1, pe: int = 0) -> tuple[tuple[int, int, int], ...]:
    return tuple((sip, cube, pe) for sip in range(sips) for cube in range(cubes))


@pytest.mark.parametrize(
    ("collective", "leave", "enter", "cross"),
    [
        ("all_reduce", [10, 10, 10], [10, 10, 10], 40),
        ("broadcast", [0, 10, 0], [10, 0, 10], 20),
        ("reduce", [10, 0, 10], [0, 10, 0], 20),
        ("all_gather", [20, 10, 10], [20, 30, 30], 80),
        ("reduce_scatter", [20, 30, 30], [20, 10, 10], 80),
        ("all_to_all", [40, 30, 30], [40, 30, 30], 100),
        ("barrier", [0, 0, 0], [0, 0, 0], 0),
    ],
)
def test_what_blocks_of_two_and_one_and_one_must_exchange(
    collective: str, leave: list[int], enter: list[int], cross: int
) -> None:
    demand = find_demand(collective, [2, 1, 1], 10, root=1)
    assert (list(demand.leave), list(demand.enter), demand.cross) == (leave, enter, cross)
    assert demand.cross >= max(sum(leave), sum(enter))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_one_block_exchanges_nothing(collective: str) -> None:
    demand = find_demand(collective, [5], 10)
    assert (list(demand.leave), list(demand.enter), demand.cross) == ([0], [0], 0)


def test_one_participant_has_nothing_to_wait_for() -> None:
    assert find_task_bound(load_machine("tiny"), "all_reduce", [Group(members(), N)]).ns == 0


def test_the_links_of_the_pes_bound_a_large_all_reduce() -> None:
    found = find_task_bound(load_machine("tiny"), "all_reduce", [Group(members(cubes=2), N)])
    assert found.ns == pytest.approx(2 * N / (2 * 256))  # 2 (P - 1) n over the links of P PEs
    assert found.by == "1,048,576 B must leave a PE, whose links pass 256.0 GB/s"
    four = find_task_bound(load_machine("tiny", {"sips.count": 2}), "all_reduce", [Group(members(2, 2), N)])
    assert four.ns == pytest.approx(2 * 3 * N / (4 * 256))
    assert four.by == "6,291,456 B must pass between all PEs, whose links pass 1,024.0 GB/s"


def test_a_slow_endpoint_bounds_what_leaves_a_sip() -> None:
    machine = load_machine("tiny", {"sips.count": 3, "pcie_ep.gbs": 8})
    reduced = find_task_bound(machine, "all_reduce", [Group(members(3), N)])
    assert reduced.ns == pytest.approx(2 * 2 * N / (3 * 8))
    assert reduced.by == "4,194,304 B must pass between all SIPs, whose links pass 24.0 GB/s"
    gathered = find_task_bound(machine, "all_gather", [Group(members(3), N)])
    assert gathered.ns == pytest.approx(2 * N / 8)
    assert gathered.by == "2,097,152 B must enter a SIP, whose links pass 8.0 GB/s"
    scattered = find_task_bound(machine, "reduce_scatter", [Group(members(3), N)])
    assert scattered == gathered._replace(by="2,097,152 B must leave a SIP, whose links pass 8.0 GB/s")
    for collective in ("broadcast", "reduce"):
        assert find_task_bound(machine, collective, [Group(members(3), N, root=1)]).ns == pytest.approx(N / 8)


def test_independent_groups_share_the_links_of_a_cut() -> None:
    machine = load_machine("tiny", {"sips.count": 2, "pcie_ep.gbs": 8})
    groups = [Group(tuple((sip, cube, pe) for sip in range(2)), N) for cube in range(2) for pe in range(2)]
    assert find_task_bound(machine, "all_to_all", groups).ns == pytest.approx(4 * N / 8)


def test_a_half_of_a_row_of_cubes_is_a_cut() -> None:
    machine = load_machine("tiny", {"sip.cubes.w": 6, "ucie.gbs": 1})
    found = find_task_bound(machine, "all_to_all", [Group(members(cubes=6, pe=pe), N) for pe in range(2)])
    # Two connections join the halves in the middle, and one leads from each cube of a half to the IO chiplet.
    assert found.ns == pytest.approx(2 * 3 * 3 * N / (2 + 3))
    assert found.by == "18,874,368 B must leave half the columns of a SIP, whose links pass 5.0 GB/s"


def test_half_of_four_sips_is_a_cut_where_its_links_are_fewer() -> None:
    machine = load_machine("tiny", {"sips.count": 4})
    scattered = find_task_bound(machine, "all_to_all", [Group(members(4), N)])
    assert scattered.ns == pytest.approx(3 * N / 256)  # of a PE; half the SIPs have two endpoints for 4 n


@pytest.mark.parametrize("collective", ["all_reduce", "broadcast", "reduce", "barrier"])
def test_an_empty_message_takes_the_ports_and_wires_between_the_farthest(collective: str) -> None:
    machine = load_machine("tiny")
    found = find_task_bound(machine, collective, [Group(members(cubes=2), 0)])
    first, last = (machine.places.pe(0, cube, 0).dma for cube in (0, 1))
    wires = sum(int(machine.stations.propagation_fs[edge]) for edge in machine.routing.edges_between(first, last, 1))
    assert found.ns == pytest.approx(2 * 8 + wires / 1e6)
    assert found.by.startswith("an empty message must get from sip0.cube")


def test_bandwidths_are_those_of_nccl_tests() -> None:
    assert bus_factor("all_reduce", 4) == 2 * 3 / 4
    assert {bus_factor(name, 4) for name in ("all_gather", "reduce_scatter", "all_to_all")} == {3 / 4}
    assert {bus_factor(name, 4) for name in ("broadcast", "reduce")} == {1}
    groups = [Group(members(4), 100), Group(members(4, pe=1), 60)]
    assert buffer_bytes("all_reduce", groups) == buffer_bytes("broadcast", groups) == 160
    assert buffer_bytes("all_gather", groups) == buffer_bytes("all_to_all", groups) == 640
