"""The IO chiplets of a SIP: each has a network that joins its PCIe endpoint, its IO_CPU and its ports.

Chiplets are beside sides of the mesh of cubes; chiplets of one side divide its cubes among them. Port i of a side joins the
port of the i-th cube of the side. With direct links between SIPs each chiplet is linked to the next one clockwise too, so a
message that enters a SIP by one chiplet and leaves it by another passes no cube; chiplets on all four sides form a ring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from kernbench.machine.builder import Builder
from kernbench.machine.families.sip.cube import forwarding, router_at
from kernbench.machine.families.sip.network import SipNetwork, link_chiplets
from kernbench.machine.families.sip.spec import SipSpec
from kernbench.machine.intents import CHIPLET_PENALTY, IO_PENALTY, EdgeKind
from kernbench.machine.sheets.quantities import rate

_ENDS = {"N": "WE", "S": "WE", "W": "NS", "E": "NS"}  # the directions to both ends of a side
_CLOCKWISE = "NESW"

CubePorts = Mapping[tuple[int, int, str], int]  # node by row, column and side


class _Chiplet(NamedTuple):
    """An IO chiplet: its side, and the cubes of the side that are beside it."""

    number: int
    side: str
    cubes: range

    def path(self, part: str) -> str:
        """The name of a part, in its SIP."""
        return f"io{self.number}.{part}"


def sip_mm(spec: SipSpec) -> tuple[float, float]:
    """The width and height of a SIP."""
    left, top = cubes_mm(spec)
    right, bottom = (_depth(spec, side) for side in "ES")
    return left + _length(spec, "N") + right, top + _length(spec, "W") + bottom


def cubes_mm(spec: SipSpec) -> tuple[float, float]:
    """The position of the first cube in its SIP."""
    return _depth(spec, "W"), _depth(spec, "N")


def longest_mm(spec: SipSpec) -> float:
    """The length of the longest IO chiplet of a SIP; one mask makes them all."""
    spans = (_span(spec, chiplet) for chiplet in _chiplets(spec))
    return max(end - start for start, end in spans)


def add_io_chiplets(sip: Builder, spec: SipSpec, cube_ports: CubePorts, network: SipNetwork | None) -> None:
    """Add the IO chiplets of a SIP; `network` is that of SIPs with direct links."""
    chiplets = _chiplets(spec)
    nocs = [_add(sip, spec, chiplet, cube_ports) for chiplet in chiplets]
    if network is None:
        return
    for direction, number in link_chiplets(spec.sip.sides, network.directions).items():
        chiplet = chiplets[number]
        port = sip.node(
            chiplet.path(f"sip_link_{direction}"),
            "sip_link",
            _at(spec, chiplet, *_link_place(spec, chiplet, direction)),
            *forwarding(spec, "sip_link"),
        )
        sip.link(nocs[number], port, EdgeKind.IO, rate(spec, "sip_link.gbs"))
    clockwise = sorted(chiplets, key=lambda chiplet: (_CLOCKWISE.index(chiplet.side), _turned(chiplet)))
    closing = [clockwise[0]] if set(spec.sip.sides) == set(_CLOCKWISE) else []
    for before, after in pairwise([*clockwise, *closing]):
        _join(sip, spec, before, after, nocs)


def _chiplets(spec: SipSpec) -> list[_Chiplet]:
    sides, taken, found = spec.sip.sides, dict.fromkeys("NSWE", 0), list[_Chiplet]()
    for number, side in enumerate(sides):
        cubes, share = spec.sip.cubes.w if side in "NS" else spec.sip.cubes.h, sides.count(side)
        first, taken[side] = taken[side], taken[side] + 1
        found.append(_Chiplet(number, side, range(first * cubes // share, (first + 1) * cubes // share)))
    return found


def _add(sip: Builder, spec: SipSpec, chiplet: _Chiplet, cube_ports: CubePorts) -> int:
    """Add a chiplet with its ports to cubes; returns its network."""
    (start, end), depth, name = _span(spec, chiplet), spec.sip.io_chiplet_mm, chiplet.path
    middle = (start + end) / 2

    def at(along: float, inward: float) -> tuple[float, float]:
        return _at(spec, chiplet, along, inward)

    noc = sip.node(name("io_noc"), "io_noc", at(middle, depth / 2), *forwarding(spec, "io_noc"))
    pcie_ep = sip.node(name("pcie_ep"), "pcie_ep", at(middle, 0.0), *forwarding(spec, "pcie_ep"))
    io_cpu = sip.node(name("io_cpu"), "io_cpu", at(middle + depth / 2, depth / 2), *forwarding(spec, "io_cpu"))
    sip.server(name("pcie_ep"), "cpu", spec.pcie_ep.slots())
    sip.server(name("io_cpu"), "cpu", spec.io_cpu.slots())
    sip.link(noc, pcie_ep, EdgeKind.IO, rate(spec, "pcie_ep.gbs"))
    sip.link(noc, io_cpu, EdgeKind.COMMAND, rate(spec, "pcie_ep.gbs"))
    routers = spec.cube.grid.sides[chiplet.side]
    for cube in chiplet.cubes:
        begin = cube * (_cube_length(spec, chiplet.side) + spec.sip.gap_mm)
        centre = begin + _cube_length(spec, chiplet.side) / 2
        port = sip.node(name(f"io_ucie{cube}"), "io_ucie", at(centre, depth), *forwarding(spec, "ucie"))
        for i, router in enumerate(routers):
            along = begin + router_at(spec, router)[0 if chiplet.side in "NS" else 1]
            conn = sip.node(name(f"io_ucie{cube}.conn{i}"), "conn", at(along, depth * 0.75))
            sip.link(noc, conn, EdgeKind.IO, rate(spec, "ucie.gbs"))
            sip.link(conn, port, EdgeKind.IO, rate(spec, "ucie.gbs"), penalty=IO_PENALTY)
        joined = cube_ports[_cube_at(spec, chiplet.side, cube)]
        sip.link(port, joined, EdgeKind.UCIE, rate(spec, "ucie.gbs", len(routers)), least_mm=spec.sip.gap_mm)
    return noc


def _turned(chiplet: _Chiplet) -> int:
    """A number that grows clockwise along a side."""
    return chiplet.number if chiplet.side in "NE" else -chiplet.number


def _join(sip: Builder, spec: SipSpec, before: _Chiplet, after: _Chiplet, nocs: Sequence[int]) -> None:
    """Link the networks of two chiplets that follow each other clockwise by a UCIe port at an end of each."""
    wide, depth = rate(spec, "ucie.gbs", len(spec.cube.grid.sides[before.side])), spec.sip.io_chiplet_mm * 0.75

    def port(chiplet: _Chiplet, other: _Chiplet, end: bool) -> int:
        at = _at(spec, chiplet, _span(spec, chiplet)[end], depth)
        found = sip.node(chiplet.path(f"io_ucie_io{other.number}"), "io_ucie", at, *forwarding(spec, "ucie"))
        sip.link(nocs[chiplet.number], found, EdgeKind.IO, wide)
        return found

    ends = port(before, after, before.side in "NE"), port(after, before, after.side in "SW")
    sip.link(ends[0], ends[1], EdgeKind.UCIE, wide, least_mm=spec.sip.gap_mm, penalty=CHIPLET_PENALTY)


def _link_place(spec: SipSpec, chiplet: _Chiplet, direction: str) -> tuple[float, float]:
    """The place of a port of a direct link, along the side and inward.

    It is at an end, or beside the gap behind the first cube; of two cubes beside a quarter of the first, because there is no
    other port.
    """
    (start, end), cube = _span(spec, chiplet), _cube_length(spec, chiplet.side)
    if direction in _ENDS[chiplet.side]:
        return (start, end)[_ENDS[chiplet.side].index(direction)], spec.sip.io_chiplet_mm / 2
    along = cube + spec.sip.gap_mm / 2 if len(chiplet.cubes) > 2 else cube / 4
    return start + along, 0.0 if direction == chiplet.side else spec.sip.io_chiplet_mm


def _span(spec: SipSpec, chiplet: _Chiplet) -> tuple[float, float]:
    """Where a chiplet starts and ends along its side."""
    cube, cubes = _cube_length(spec, chiplet.side), chiplet.cubes
    return cubes.start * (cube + spec.sip.gap_mm), cubes.stop * (cube + spec.sip.gap_mm) - spec.sip.gap_mm


def _at(spec: SipSpec, chiplet: _Chiplet, along: float, inward: float) -> tuple[float, float]:
    """The position in a SIP of a point of a chiplet: along its side of the mesh of cubes, and from its outer edge inward."""
    (left, top), (width, height) = cubes_mm(spec), sip_mm(spec)
    return {
        "N": (left + along, inward),
        "S": (left + along, height - inward),
        "W": (inward, top + along),
        "E": (width - inward, top + along),
    }[chiplet.side]


def _cube_at(spec: SipSpec, side: str, index: int) -> tuple[int, int, str]:
    """The port of the cube of a side: row, column and side."""
    last = {"S": spec.sip.cubes.h - 1, "E": spec.sip.cubes.w - 1}.get(side, 0)
    return (last, index, side) if side in "NS" else (index, last, side)


def _cube_length(spec: SipSpec, side: str) -> float:
    return spec.cube.width_mm if side in "NS" else spec.cube.height_mm


def _length(spec: SipSpec, side: str) -> float:
    """The length of a side of the mesh of cubes."""
    cubes = spec.sip.cubes.w if side in "NS" else spec.sip.cubes.h
    return cubes * (_cube_length(spec, side) + spec.sip.gap_mm) - spec.sip.gap_mm


def _depth(spec: SipSpec, side: str) -> float:
    """The room that chiplets take on a side, with the gap to the cubes."""
    return spec.sip.io_chiplet_mm + spec.sip.gap_mm if side in spec.sip.sides else 0.0
