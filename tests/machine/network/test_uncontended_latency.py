"""Uncontended latency, station by station."""

from __future__ import annotations

from kernbench.machine import Intent, Machine, RouteKind, load_machine
from kernbench.machine.network.uncontended_latency import find_uncontended_latency


def route(machine: Machine, src: str, dst: str, kind: RouteKind) -> int:
    intent = Intent.ALL if kind == RouteKind.MESSAGE else Intent.PE_DMA
    return machine.routing.route(machine.find_node(src), machine.find_node(dst), intent, kind)


def test_every_flit_but_the_first_goes_at_the_slowest_pace() -> None:
    machine = load_machine("tiny")
    found = find_uncontended_latency(
        machine, route(machine, "sip0.cube0.pe0.pe_dma", "sip0.cube1.hbm_ctrl.pe0", RouteKind.WRITE), 1024
    )
    assert found.first_fs.tolist() == [10**6] * 3 + [2 * 10**6] * 2 + [10**6] + [2 * 10**6] * 2 + [10**6] + [8 * 10**6]
    assert found.rest_fs.tolist() == [0, 0, 0, 6 * 10**6, 0, 0, 0, 0, 0, 0]
    assert found.overhead_fs.sum() == 16 * 10**6
    assert found.pace_fs.tolist()[-1] == 10**6  # eight channels
    assert found.total_fs == 21 * 10**6 + 6 * 10**6 + 16 * 10**6 + found.wire_fs


def test_what_stores_and_forwards_begins_the_rest_anew() -> None:
    machine = load_machine("sip_2x4x4", {"pcie_ep.store_and_forward": True})
    found = find_uncontended_latency(
        machine, route(machine, "sip0.io0.io_noc", "sip1.io0.io_noc", RouteKind.MESSAGE), 1024
    )
    assert found.rest_fs.tolist() == [3 * 10**6] * 1 + [3 * 10**6, 0] + [3 * 10**6]


def test_less_than_a_flit_is_padded_by_memories_alone() -> None:
    machine = load_machine("tiny")
    found = find_uncontended_latency(
        machine, route(machine, "sip0.cube0.pe0.pe_dma", "sip0.cube0.hbm_ctrl.pe0", RouteKind.WRITE), 64
    )
    assert found.first_fs.tolist() == [250_000, 250_000, 8 * 10**6]
    assert found.rest_fs.tolist() == [0, 0, 0]
