"""Views: their boxes, positions and wires."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernbench.errors import InputError
from kernbench.machine import EdgeKind, Machine, load_machine
from kernbench.machine.families.registry import FAMILIES
from kernbench.machine.view import View
from kernbench.machine.views import find_view, list_views
from tests.machine.families.sip.test_cube_mesh import made


@pytest.fixture(scope="module")
def default() -> Machine:
    return load_machine("sip_2x4x4")


def joined(view: View, kind: EdgeKind) -> dict[tuple[str, str], float]:
    """The bandwidths of the wires of a kind, by the labels of their ends."""
    return {
        (view.boxes[wire.src].label, view.boxes[wire.dst].label): wire.gbs for wire in view.wires if wire.kind == kind
    }


def test_every_family_has_views(default: Machine) -> None:
    assert all(family.views for family in FAMILIES.values())
    assert list_views(default) == ("system", "sip", "cube", "pe")
    assert list_views(load_machine("mesh_8x8")) == ("system",)


def test_a_view_that_is_not_there() -> None:
    with pytest.raises(InputError) as caught:
        find_view(load_machine("torus_8x8"), "cube")
    assert str(caught.value) == "machine torus_8x8 is of family 'mesh', which has no view 'cube'; it has system"


@pytest.mark.parametrize("name", ["system", "sip", "cube", "pe"])
def test_parts_stand_where_the_machine_says(default: Machine, name: str) -> None:
    for box in find_view(default, name).boxes:
        if box.kind == "pe":
            continue
        node = default.node_id[box.name]
        assert (box.x_mm, box.y_mm) == (default.node_x_mm[node], default.node_y_mm[node])
        assert box.kind == default.node_kind[node]


def test_the_system(default: Machine) -> None:
    view = find_view(default, "system")
    assert view.subtitle == "2 SIPs; one switch; collectives see ring_1d, 2 × 1"
    assert [box.name for box in view.boxes] == ["switch", "sip0.io0.pcie_ep", "sip1.io0.pcie_ep"]
    sips = [area for area in view.areas if area.kind == "sip"]
    assert [(area.label, area.left_mm, area.right_mm) for area in sips] == [("sip0", 0, 75), ("sip1", 95, 170)]
    assert sips[0].remarks == ("16 cubes, 128 PEs, HBM 768 GiB, 32,768 GB/s",)
    assert [wire.gbs for wire in view.wires] == [256, 256]


def test_a_system_with_direct_links() -> None:
    machine = load_machine("tiny", {"sips.count": 4, "sips.topology": "mesh_2d_no_wrap", "sips.wiring": "direct"})
    view = find_view(machine, "system")
    assert view.subtitle == "4 SIPs; direct links in a mesh_2d_no_wrap, 2 × 2"
    names = [box.name for box in view.boxes]
    assert names[:4] == [f"sip{sip}.io0.pcie_ep" for sip in range(4)]
    assert [box.label for box in view.boxes[4:]] == ["E", "S", "W", "S", "E", "N", "W", "N"]  # those that have a link
    assert {wire.kind for wire in view.wires} == {EdgeKind.SIP}
    links = {tuple(sorted((names[wire.src], names[wire.dst]))) for wire in view.wires}
    assert links == {
        ("sip0.io0.sip_link_E", "sip1.io0.sip_link_W"),
        ("sip2.io0.sip_link_E", "sip3.io0.sip_link_W"),
        ("sip0.io0.sip_link_S", "sip2.io0.sip_link_N"),
        ("sip1.io0.sip_link_S", "sip3.io0.sip_link_N"),
    }


def test_a_sip(default: Machine) -> None:
    view = find_view(default, "sip")
    cubes = [area for area in view.areas if area.kind == "cube"]
    assert [area.label for area in cubes] == [f"cube{i}" for i in range(16)]
    assert (cubes[5].left_mm, cubes[5].top_mm, cubes[5].right_mm, cubes[5].bottom_mm) == (19, 23, 37, 38)
    assert cubes[5].remarks == ("8 PEs", "HBM 48 GiB", "2,048 GB/s")
    assert len([wire for wire in view.wires if wire.kind == EdgeKind.UCIE]) == 12 + 12 + 4
    assert {wire.gbs for wire in view.wires if wire.kind == EdgeKind.UCIE} == {512}


@pytest.mark.parametrize(("field", "sides"), [("cube.width_mm", "[N, S]"), ("cube.height_mm", "[W, E]")])
def test_cubes_without_extent_have_chiplets_beside_them(field: str, sides: str) -> None:
    machine = load_machine("sip_2x4x4", {field: 0, "sip.io_chiplets": 4, "sip.io_sides": sides})
    areas = find_view(machine, "sip").areas
    assert [area.label for area in areas if area.kind == "io_chiplet"] == ["io0", "io1", "io2", "io3"]


def test_connections_are_shown_by_their_port(default: Machine) -> None:
    view = find_view(default, "sip")
    assert not [box for box in view.boxes if box.kind == "conn"]
    wires = [wire for wire in view.wires if view.boxes[wire.dst].label == "io_ucie2" and wire.kind == EdgeKind.IO]
    assert [(wire.links, wire.gbs) for wire in wires] == [(4, 512)]


def test_a_cube(default: Machine) -> None:
    view = find_view(default, "cube")
    kinds = [box.kind for box in view.boxes]
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    assert counts == {"conn": 16, "hbm_ctrl": 8, "m_cpu": 1, "pe": 8, "router": 32, "sram": 1, "ucie": 4}
    wires = joined(view, EdgeKind.NOC)
    assert wires["PE 0", "r0c0"] == 256
    assert wires["r3c0", "sram"] == 128
    assert wires["r1c4", "HBM 2"] == 256
    assert not joined(view, EdgeKind.COMMAND)  # beside links of data


def test_a_pe_is_a_box_around_its_parts(default: Machine) -> None:
    box = next(box for box in find_view(default, "cube").boxes if box.label == "PE 2")
    place = default.places.pe(0, 0, 2)
    assert abs(box.x_mm - default.node_x_mm[place.scheduler]) < 1e-9
    assert abs(box.y_mm - default.node_y_mm[place.scheduler]) < 1e-9
    assert (round(box.width_mm, 6), round(box.height_mm, 6)) == (0.6, 0.6)


def test_the_hole_in_the_routers_is_one_zone(default: Machine) -> None:
    zone = find_view(default, "cube").areas[-1]
    assert (zone.label, zone.remarks) == ("HBM exclusion zone", ("HBM 48 GiB", "2,048 GB/s"))
    top = 7.0  # of the cube: the IO chiplet and a gap
    assert (zone.left_mm, zone.top_mm - top, zone.right_mm, zone.bottom_mm - top) == (6, 5, 12, 10)


def test_a_ragged_hole_is_shown_cell_by_cell() -> None:
    machine = load_machine("sip_2x4x4", {"cube.hole": ["r2c2", "r2c3", "r3c2"]})
    zones = [area for area in find_view(machine, "cube").areas if area.kind == "hbm_zone"]
    assert [(area.label, area.left_mm, area.top_mm - 7) for area in zones] == [("", 6, 5), ("", 6, 7.5), ("", 9, 5)]


def test_a_zone_reaches_half_way_to_the_routers_around_it(tmp_path: Path) -> None:
    machine = load_machine(made(tmp_path), {"cube.max_gap_mm": 2})
    zone = find_view(machine, "cube").areas[-1]
    xs = [
        float(machine.node_x_mm[machine.find_node(f"sip0.cube0.{name}")]) for name in ("r3c2", "r2c3", "r2c6", "r3c7")
    ]
    assert (zone.left_mm, zone.right_mm) == ((xs[0] + xs[1]) / 2, (xs[2] + xs[3]) / 2)


def test_no_hole_no_zone() -> None:
    assert [area.kind for area in find_view(load_machine("tiny"), "cube").areas] == ["cube"]


def test_a_pe(default: Machine) -> None:
    view = find_view(default, "pe")
    assert len(view.boxes) == 9 + 2
    assert [box.label for box in view.boxes][-2:] == ["r0c0", "HBM 0"]
    assert set(joined(view, EdgeKind.COMMAND)) == {("pe_cpu", "r0c0"), ("pe_mmu", "r0c0")}
    assert joined(view, EdgeKind.NOC) == {("pe_dma", "r0c0"): 256, ("r0c0", "HBM 0"): 256}
    assert len(joined(view, EdgeKind.PE)) == 13


@pytest.mark.parametrize(("topology", "wires", "wraps"), [("mesh_8x8", 112, 0), ("torus_8x8", 128, 16)])
def test_a_network(topology: str, wires: int, wraps: int) -> None:
    view = find_view(load_machine(topology), "system")
    assert len(view.boxes) == 64
    assert len(view.wires) == wires
    assert sum(wire.wraps for wire in view.wires) == wraps


@pytest.mark.parametrize(
    ("fields", "shape"), [({"torus": False}, "mesh"), ({}, "torus"), ({"one_way": True}, "one-way torus")]
)
@pytest.mark.parametrize(("networks", "routers"), [(1, "a router"), (2, "a router in each of 2 networks")])
def test_what_a_network_is(fields: dict[str, object], shape: str, networks: int, routers: str) -> None:
    view = find_view(load_machine("torus_8x8", {**fields, "networks": networks}), "system")
    assert view.subtitle == f"{shape} of 8 × 8 endpoints, each with {routers}"
    assert len(view.boxes) == 64
    assert {(wire.gbs, wire.links) for wire in view.wires} == {(256 * networks, networks)}


def test_a_network_that_is_too_large() -> None:
    with pytest.raises(InputError) as caught:
        find_view(load_machine("mesh_8x8", {"k": 65}), "system")
    assert str(caught.value) == (
        "machine mesh_8x8 has 4,225 endpoints, too many for a picture (at most 4,096); "
        "a smaller one, such as --set k=16, looks the same"
    )
