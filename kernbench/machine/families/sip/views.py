"""The four views of a `sip` machine: the tray, one SIP, one cube, one PE.

All SIPs, cubes and PEs are alike, so the first of each stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise, product
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.families.sip.cube import PART_PITCH_MM
from kernbench.machine.families.sip.places import PE_PARTS, pe_path, sip_path
from kernbench.machine.families.sip.tray_rows import drawn_places, is_in_rows
from kernbench.machine.intents import EdgeKind
from kernbench.machine.view import Area, Box, View, Wire, find_wires, point
from kernbench.units import FS_PER_NS, format_bytes

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


def system_view(machine: Machine) -> View:
    """The tray: SIPs with their dies, and the switch or the direct links that join them."""
    places = machine.places
    x_mm, y_mm = drawn_places(machine)
    areas: list[Area] = []
    for sip, nodes in enumerate(_nodes_by_sip(machine)):
        dies = list(_dies(machine, sip, nodes))
        shift = x_mm[nodes[0]] - machine.node_x_mm[nodes[0]], y_mm[nodes[0]] - machine.node_y_mm[nodes[0]]
        areas += [
            _shifted(area, *shift) for area in (_around(sip_path(sip), "sip", dies, _sip_remarks(machine)), *dies)
        ]
    nodes = _joined_nodes(machine)
    boxes = (point(machine, node, _side(machine, node)) for node in nodes)
    return View(
        "system",
        f"{_count(places.sip_count, 'SIP')}; {_wiring(machine)}",
        tuple(areas),
        tuple(
            replace(box, x_mm=float(x_mm[node]), y_mm=float(y_mm[node])) for node, box in zip(nodes, boxes, strict=True)
        ),
        find_wires(machine, {node: box for box, node in enumerate(nodes)}),
        px_per_mm=7.0,
        in_rows=is_in_rows(machine),
    )


def _shifted(area: Area, x_mm: float, y_mm: float) -> Area:
    return replace(
        area,
        left_mm=float(area.left_mm + x_mm),
        top_mm=float(area.top_mm + y_mm),
        right_mm=float(area.right_mm + x_mm),
        bottom_mm=float(area.bottom_mm + y_mm),
    )


def sip_view(machine: Machine) -> View:
    """One SIP: its cubes, the ports that join them, its IO chiplet."""
    inside = _nodes_by_sip(machine)[0]
    dies = [_with_remarks(machine, die) for die in _dies(machine, 0, inside)]
    outside = [node for node in inside if not _inside_cube(machine, node)]
    nodes = [node for node in outside if machine.node_kind[node] != "conn"]
    box_of = {node: box for box, node in enumerate(nodes)}
    for node in outside:
        if node not in box_of:  # a connection, shown by its port
            box_of[node] = box_of[machine.node_id[machine.node_name[node].rpartition(".")[0]]]
    return View(
        "sip",
        _one_of("sip0", machine.places.sip_count, "SIP"),
        (_around("sip0", "sip", dies), *dies),
        tuple(point(machine, node, _side(machine, node)) for node in nodes),
        find_wires(machine, box_of),
        px_per_mm=16.0,
    )


def cube_view(machine: Machine) -> View:
    """One cube: routers, memories, ports and M_CPU, each PE as one box."""
    places = machine.places
    nodes = np.flatnonzero(places.cube_of() == 0).tolist()
    pe_of = {node: pe for pe in range(places.pes_per_cube) for node in _parts(machine, pe)}
    boxes = [_pe_box(machine, pe) for pe in range(places.pes_per_cube)]
    box_of = dict(pe_of)
    controllers = {places.hbm(0, 0, pe): f"HBM {pe}" for pe in range(places.pes_per_cube)}
    for node in nodes:
        if node not in pe_of:
            box_of[node] = len(boxes)
            boxes.append(point(machine, node, controllers.get(node)))
    cube = replace(_cube_area(machine, nodes), label="")  # it is in the title
    return View(
        "cube",
        _one_of("sip0.cube0", places.sip_count * places.cubes_per_sip, "cube"),
        (cube, *_zone(machine, nodes)),
        tuple(boxes),
        _of_data(find_wires(machine, box_of)),
        px_per_mm=72.0,
    )


def pe_view(machine: Machine) -> View:
    """One PE: its nine parts, its router and its slice of HBM."""
    places, place = machine.places, machine.places.pe(0, 0, 0)
    nodes = [*_parts(machine, 0), place.router, places.hbm(0, 0, 0)]
    count = places.sip_count * places.cubes_per_sip * places.pes_per_cube
    box = _pe_box(machine, 0)
    half = box.width_mm / 2
    outline = Area("PE 0", "pe", box.x_mm - half, box.y_mm - half, box.x_mm + half, box.y_mm + half)
    return View(
        "pe",
        _one_of(pe_path(0, 0, 0), count, "PE"),
        (outline,),
        (*(point(machine, node) for node in nodes[:-1]), point(machine, nodes[-1], "HBM 0")),
        find_wires(machine, {node: box for box, node in enumerate(nodes)}),
        px_per_mm=900.0,
    )


def _joined_nodes(machine: Machine) -> list[int]:
    """The switch with all PCIe endpoints, or the endpoints with all ports that have a direct link."""
    places = machine.places
    endpoints = [node for sip in range(places.sip_count) for node in places.pcie_eps(sip)]
    if places.direct:
        links = np.flatnonzero(machine.edge_kind == EdgeKind.SIP)
        return [*endpoints, *np.unique(machine.edge_src[links]).tolist()]
    return [places.switch(), *endpoints]


def _wiring(machine: Machine) -> str:
    places = machine.places
    shape = f"{places.sip_topology}, {places.sip_w} × {places.sip_h}"
    return f"direct links in a {shape}" if places.direct else f"one switch; collectives see {shape}"


def _of_data(wires: Iterable[Wire]) -> tuple[Wire, ...]:
    """The wires without command links that run beside data links."""
    found = tuple(wires)
    data = {(wire.src, wire.dst) for wire in found if wire.kind != EdgeKind.COMMAND}
    return tuple(wire for wire in found if wire.kind != EdgeKind.COMMAND or (wire.src, wire.dst) not in data)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _one_of(name: str, number: int, what: str) -> str:
    return name if number == 1 else f"{name}; one of {_count(number, what)}, which are all alike"


def _nodes_by_sip(machine: Machine) -> list[list[int]]:
    """The nodes of each SIP; nodes outside SIPs are left out."""
    found: dict[str, list[int]] = {}
    for node, name in enumerate(machine.node_name):
        sip, dot, _ = name.partition(".")
        if dot:
            found.setdefault(sip, []).append(node)
    return list(found.values())


def _inside_cube(machine: Machine, node: int) -> bool:
    """Whether a node is in a cube and is not a port."""
    return bool(machine.places.cube_of()[node] >= 0) and machine.node_kind[node] != "ucie"


def _side(machine: Machine, node: int) -> str | None:
    """The label of a port of a cube or of a direct link, which is its side; None for other nodes."""
    return machine.node_name[node][-1] if machine.node_kind[node] in ("ucie", "sip_link") else None


def _parts(machine: Machine, pe: int) -> list[int]:
    place = machine.places.pe(0, 0, pe)
    return [getattr(place, part) for part in PE_PARTS]


def _pe_box(machine: Machine, pe: int) -> Box:
    """A PE as one box around its parts."""
    parts = _parts(machine, pe)
    x, y = (float(at[parts].max() + at[parts].min()) / 2 for at in (machine.node_x_mm, machine.node_y_mm))
    return Box(pe_path(0, 0, pe), f"PE {pe}", "pe", x, y, 3 * PART_PITCH_MM, 3 * PART_PITCH_MM)


def _dies(machine: Machine, sip: int, inside: list[int]) -> Iterable[Area]:
    """The IO chiplets and the cubes of a SIP, from its nodes."""
    places, nodes = machine.places, np.array(inside)
    of_cube = places.cube_of()[nodes]
    first = sip * places.cubes_per_sip
    cubes = [_cube_area(machine, nodes[of_cube == first + cube].tolist()) for cube in range(places.cubes_per_sip)]
    chiplets = places.chiplet_of()[nodes]
    for chiplet in range(len(places.shape.io_sides)):
        yield _chiplet_area(machine, chiplet, nodes[chiplets == chiplet].tolist(), cubes)
    yield from cubes


def _chiplet_area(machine: Machine, chiplet: int, nodes: list[int], cubes: list[Area]) -> Area:
    """The area of an IO chiplet: as deep as its nodes, and as long as the cubes that it has ports to."""
    places = machine.places
    x, y = machine.node_x_mm[nodes], machine.node_y_mm[nodes]
    ports = [node for node in nodes if machine.node_kind[node] == "conn"]
    label = "IO chiplet" if len(places.shape.io_sides) == 1 else f"io{chiplet}"
    if places.shape.io_sides[chiplet] in "NS":
        columns = [(cube.left_mm, cube.right_mm) for cube in cubes]
        across = [cubes[_nearest(columns, at)] for at in machine.node_x_mm[ports].tolist()]
        left, right = min(cube.left_mm for cube in across), max(cube.right_mm for cube in across)
        return Area(label, "io_chiplet", left, float(y.min()), right, float(y.max()))
    rows = [(cube.top_mm, cube.bottom_mm) for cube in cubes]
    down = [cubes[_nearest(rows, at)] for at in machine.node_y_mm[ports].tolist()]
    top, bottom = min(cube.top_mm for cube in down), max(cube.bottom_mm for cube in down)
    return Area(label, "io_chiplet", float(x.min()), top, float(x.max()), bottom)


def _nearest(spans_mm: Sequence[tuple[float, float]], at_mm: float) -> int:
    """Which of some intervals a coordinate is in, or nearest to: a cube without width has its ports beside it, by rounding."""
    return min(range(len(spans_mm)), key=lambda i: max(spans_mm[i][0] - at_mm, at_mm - spans_mm[i][1], 0.0))


def _cube_area(machine: Machine, nodes: list[int]) -> Area:
    """The area of a cube, which its ports bound."""
    ports = [node for node in nodes if machine.node_kind[node] == "ucie"]
    x, y = machine.node_x_mm[ports], machine.node_y_mm[ports]
    label = machine.node_name[nodes[0]].split(".")[1]
    return Area(label, "cube", float(x.min()), float(y.min()), float(x.max()), float(y.max()))


def _with_remarks(machine: Machine, die: Area) -> Area:
    if die.kind != "cube":
        return die
    count = machine.places.pes_per_cube
    remarks = (_count(count, "PE"), *_hbm_remarks(machine, count))
    return replace(die, remarks=remarks)


def _sip_remarks(machine: Machine) -> tuple[str, ...]:
    places = machine.places
    cubes, pes = places.cubes_per_sip, places.cubes_per_sip * places.pes_per_cube
    return (f"{_count(cubes, 'cube')}, {_count(pes, 'PE')}, {', '.join(_hbm_remarks(machine, pes))}",)


def _hbm_remarks(machine: Machine, slices: int) -> tuple[str, str]:
    """Size and bandwidth of some slices of HBM."""
    memory = machine.terminals[machine.places.hbm(0, 0, 0)]
    fs_per_flit = int(machine.stations.fs_per_flit[memory.first_station])
    gbs = slices * memory.stripes * machine.flit_bytes * FS_PER_NS / fs_per_flit
    return f"HBM {format_bytes(slices * machine.places.shape.slice_bytes)}", f"{gbs:,.6g} GB/s"


def _around(label: str, kind: str, areas: Iterable[Area], remarks: tuple[str, ...] = ()) -> Area:
    inside = list(areas)
    return Area(
        label,
        kind,
        min(area.left_mm for area in inside),
        min(area.top_mm for area in inside),
        max(area.right_mm for area in inside),
        max(area.bottom_mm for area in inside),
        remarks,
    )


def _zone(machine: Machine, nodes: list[int]) -> Iterable[Area]:
    """The places of the grid without a router: one area if they fill a rectangle, else one area each."""
    routers = [node for node in nodes if machine.node_kind[node] == "router"]
    at = {(round(float(machine.node_x_mm[n]), 6), round(float(machine.node_y_mm[n]), 6)) for n in routers}
    xs, ys = sorted({x for x, _ in at}), sorted({y for _, y in at})
    empty = [(x, y) for x, y in product(xs, ys) if (x, y) not in at]
    if not empty:
        return
    across, down = _cells(xs), _cells(ys)
    cells = [Area("", "hbm_zone", across[x][0], down[y][0], across[x][1], down[y][1]) for x, y in empty]
    whole = _around("HBM exclusion zone", "hbm_zone", cells, _hbm_remarks(machine, machine.places.pes_per_cube))
    wide, high = len({x for x, _ in empty}), len({y for _, y in empty})
    yield from [whole] if wide * high == len(empty) and _solid(whole, cells) else cells


def _solid(whole: Area, cells: list[Area]) -> bool:
    """Whether cells fill the area around them."""
    sizes = [(cell.right_mm - cell.left_mm) * (cell.bottom_mm - cell.top_mm) for cell in cells]
    return abs((whole.right_mm - whole.left_mm) * (whole.bottom_mm - whole.top_mm) - sum(sizes)) < 1e-6


def _cells(places: list[float]) -> dict[float, tuple[float, float]]:
    """For each of some ascending coordinates, the interval in which it is the nearest; symmetrical at both ends."""
    middles = [(a + b) / 2 for a, b in pairwise(places)] or places
    edges = [2 * places[0] - middles[0], *middles, 2 * places[-1] - middles[-1]]
    return dict(zip(places, pairwise(edges), strict=False))


VIEWS = {"system": system_view, "sip": sip_view, "cube": cube_view, "pe": pe_view}
