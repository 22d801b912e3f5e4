"""SIPs with several IO chiplets: where they are, and who uses which."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import EdgeKind, Intent, Machine, load_machine
from kernbench.machine.views import find_view

AROUND = {"sip.io_chiplets": 4, "sip.io_sides": ["N", "S", "W", "E"]}


def neighbours(machine: Machine, name: str, kind: EdgeKind) -> list[str]:
    """The nodes at the other ends of a node's links of a kind."""
    edges = np.flatnonzero((machine.edge_src == machine.find_node(name)) & (machine.edge_kind == kind))
    return sorted(machine.node_name[node] for node in machine.edge_dst[edges])


def test_chiplets_of_a_side_divide_its_cubes() -> None:
    machine = load_machine("sip_2x4x4", {"sips.count": 1, "sip.io_chiplets": 3})
    ports = [
        [
            neighbours(machine, machine.node_name[node], EdgeKind.UCIE)
            for node in nodes
            if machine.node_kind[node] == "io_ucie"
        ]
        for nodes in (np.flatnonzero(machine.places.chiplet_of() == chiplet) for chiplet in range(3))
    ]
    cubes = [[0], [1], [2, 3]]
    assert ports == [[[f"sip0.cube{cube}.ucie_N"] for cube in some] for some in cubes]


def test_each_side_joins_its_own_cubes() -> None:
    machine = load_machine("sip_2x4x4", {"sips.count": 1, **AROUND})
    for chiplet, (side, cubes) in enumerate(
        (("N", range(4)), ("S", range(12, 16)), ("W", range(0, 16, 4)), ("E", range(3, 16, 4)))
    ):
        found = [neighbours(machine, f"sip0.io{chiplet}.io_ucie{i}", EdgeKind.UCIE) for i in range(4)]
        assert found == [[f"sip0.cube{cube}.ucie_{side}"] for cube in cubes]


def test_places_around_the_cubes() -> None:
    machine = load_machine("sip_2x4x4", {"sips.count": 1, **AROUND})

    def at(name: str) -> tuple[float, float]:
        node = machine.find_node(name)
        return float(machine.node_x_mm[node]), float(machine.node_y_mm[node])

    assert at("sip0.cube0.r0c0") == (7 + 1.5, 7 + 1.25)
    assert at("sip0.io0.pcie_ep") == (7 + 37.5, 0)
    assert at("sip0.io1.pcie_ep") == (7 + 37.5, 7 + 63 + 7)
    assert at("sip0.io2.pcie_ep") == (0, 7 + 31.5)
    assert at("sip0.io3.pcie_ep") == (7 + 75 + 7, 7 + 31.5)


def test_the_view_of_a_sip_has_all_chiplets() -> None:
    view = find_view(load_machine("sip_2x4x4", {"sips.count": 1, **AROUND}), "sip")
    found = {area.label: (area.left_mm, area.top_mm, area.right_mm, area.bottom_mm) for area in view.areas}
    assert {label: found[label] for label in ("io0", "io1", "io2", "io3")} == {
        "io0": (7, 0, 82, 6),
        "io1": (7, 71, 82, 77),
        "io2": (0, 7, 6, 70),
        "io3": (83, 7, 89, 70),
    }
    assert found["sip0"] == (0, 0, 89, 77)


def test_pes_leave_for_the_switch_by_the_nearest_chiplet() -> None:
    machine = load_machine("sip_2x4x4", {"sip.io_chiplets": 2})
    places = machine.places
    for cube in range(16):
        path = machine.routing.path(places.pe(0, cube, 0).dma, places.hbm(1, 15 - cube, 0), Intent.PE_DMA)
        endpoints = [machine.node_name[node] for node in path if machine.node_kind[node] == "pcie_ep"]
        assert endpoints == [f"sip0.io{int(cube % 4 > 1)}.pcie_ep", f"sip1.io{int((15 - cube) % 4 > 1)}.pcie_ep"]


def test_nothing_leaves_a_sip_to_come_back() -> None:
    machine = load_machine("sip_2x4x4", {"sip.io_chiplets": 2})
    for cube in range(16):
        path = machine.routing.path(machine.places.pcie_ep(0), machine.places.hbm(0, cube, 0), Intent.M_CPU_DMA)
        assert machine.places.switch() not in path


def test_the_link_of_each_direction_is_at_its_chiplet() -> None:
    shape = {"sips.count": 9, "sips.topology": "torus_2d", "sips.wiring": "direct"}
    machine = load_machine("tiny", {**shape, **AROUND})
    for direction, chiplet in (("N", 0), ("S", 1), ("W", 2), ("E", 3)):
        assert machine.node_name[machine.places.sip_link(4, direction)] == f"sip4.io{chiplet}.sip_link_{direction}"
    assert neighbours(machine, "sip4.io3.sip_link_E", EdgeKind.SIP) == ["sip5.io2.sip_link_W"]
    assert neighbours(machine, "sip4.io1.sip_link_S", EdgeKind.SIP) == ["sip7.io0.sip_link_N"]


def test_transit_crosses_between_chiplets_and_passes_no_cube() -> None:
    shape = {"sips.count": 4, "sips.wiring": "direct"}
    for chiplets in (2, 4):
        machine = load_machine("sip_2x4x4", {**shape, **AROUND, "sip.io_chiplets": chiplets})
        path = machine.routing.path(machine.places.pe(0, 5, 0).dma, machine.places.hbm(2, 5, 0), Intent.PE_DMA)
        inside = [machine.node_name[node] for node in path if machine.places.sip_of()[node] == 1]
        assert inside
        assert not any(".cube" in name for name in inside)
        assert any(".io_ucie_io" in name for name in inside)


def test_pes_walk_the_cubes_to_the_chiplet_of_a_direction() -> None:
    """A chiplet that is nearer would take the message across to the other one."""
    machine = load_machine("sip_2x4x4", {"sips.count": 4, "sips.wiring": "direct", "sip.io_chiplets": 2})
    path = machine.routing.path(machine.places.pe(0, 0, 0).dma, machine.places.hbm(1, 0, 0), Intent.PE_DMA)
    names = [machine.node_name[node] for node in path]
    assert not any(".io_ucie_io" in name for name in names)
    assert "sip0.io1.sip_link_E" in names


@pytest.mark.parametrize("wiring", ["switch", "direct"])
def test_every_part_reaches_every_other(wiring: str) -> None:
    shape = {"sips.count": 4, "sips.topology": "torus_2d", "sips.wiring": wiring}
    machine = load_machine("tiny", {**shape, **AROUND})
    for src in range(0, machine.node_count, 3):
        for dst in range(1, machine.node_count, 7):
            path = machine.routing.path(src, dst, Intent.ALL)
            assert (path[0], path[-1]) == (src, dst)
            assert len(set(path)) == len(path)
