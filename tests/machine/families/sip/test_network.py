"""Networks of SIPs with direct links: their links, their routes, and times that can be worked out by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import networkx
import pytest

from kernbench.errors import UnreachableError
from kernbench.machine import EdgeKind, Intent, Machine, RouteKind, load_machine
from kernbench.machine.families.sip.network import OPPOSITE, SipNetwork, link_chiplets
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_flows
from tests.machine.alone import transfer_fs

SHAPES = [("ring_1d", 1, 1), ("ring_1d", 2, 1), ("ring_1d", 5, 1), ("ring_1d", 3, 2), ("torus_2d", 2, 2)]
SHAPES += [("torus_2d", 3, 3), ("torus_2d", 4, 3), ("mesh_2d_no_wrap", 2, 1), ("mesh_2d_no_wrap", 4, 3)]
all_shapes = pytest.mark.parametrize("shape", SHAPES)


def graph(network: SipNetwork) -> networkx.Graph:
    return networkx.Graph([(sip, to) for sip, _, to in network.links()])


@pytest.mark.parametrize(
    ("shape", "links"),
    [
        (("ring_1d", 2, 1), ["0E1"]),  # one link, not two side by side
        (("ring_1d", 2, 2), ["0E1", "1E2", "2E3", "3E0"]),  # by number, wherever the SIPs are
        (("mesh_2d_no_wrap", 2, 2), ["0S2", "1S3", "0E1", "2E3"]),
        (("torus_2d", 2, 2), ["0S2", "1S3", "0E1", "2E3"]),
        (("torus_2d", 3, 1), ["0E1", "1E2", "2E0"]),
    ],
)
def test_links(shape: tuple[str, int, int], links: list[str]) -> None:
    assert [f"{sip}{direction}{to}" for sip, direction, to in SipNetwork.of(*shape).links()] == links


@all_shapes
def test_every_link_is_there_once(shape: tuple[str, int, int]) -> None:
    network = SipNetwork.of(*shape)
    ends = [end for sip, way, to in network.links() for end in ((sip, way), (to, OPPOSITE[way]))]
    assert len(set(ends)) == len(ends)
    assert {way for _, way in ends} == set(network.directions)


@all_shapes
def test_routes_are_shortest_and_along_rows_first(shape: tuple[str, int, int]) -> None:
    network = SipNetwork.of(*shape)
    joined, sips = graph(network), range(network.w * network.h)
    for src, dst in product(sips, sips):
        hops = network.hops(src, dst)
        assert [src, *(hop.to for hop in hops)] == [*(hop.sip for hop in hops), dst]
        assert len(hops) == (networkx.shortest_path_length(joined, src, dst) if src != dst else 0)
        assert all(joined.has_edge(hop.sip, hop.to) for hop in hops)
        assert [hop.direction in "NS" for hop in hops] == sorted(hop.direction in "NS" for hop in hops)


def test_both_ways_round_an_even_ring_are_used_alike() -> None:
    network = SipNetwork.of("ring_1d", 4, 1)
    used = Counter((hop.sip, hop.direction) for src in range(4) for dst in range(4) for hop in network.hops(src, dst))
    assert set(used.values()) == {2}
    assert len(used) == 8


@pytest.mark.parametrize(("topology", "cycles"), [("mesh_2d_no_wrap", False), ("torus_2d", True)])
def test_no_cycle_of_waiting_links_in_a_mesh(topology: str, cycles: bool) -> None:
    """The dependencies of Dally and Seitz: from each link of a route to the next one."""
    network = SipNetwork.of(topology, 5, 5)
    waits = networkx.DiGraph(
        pair for src, dst in product(range(25), range(25)) for pair in pairwise(network.hops(src, dst))
    )
    assert networkx.is_directed_acyclic_graph(waits) != cycles


@pytest.mark.parametrize(
    ("sides", "chiplets"),
    [
        ("N", {"W": 0, "E": 0, "N": 0, "S": 0}),
        ("NN", {"W": 0, "E": 1, "N": 0, "S": 1}),
        ("NS", {"W": 0, "E": 1, "N": 0, "S": 1}),
        ("NSWE", {"W": 2, "E": 3, "N": 0, "S": 1}),
        ("NNN", {"W": 0, "E": 1, "N": 0, "S": 0}),
    ],
)
def test_each_direction_has_a_chiplet(sides: str, chiplets: dict[str, int]) -> None:
    assert link_chiplets(sides, "WENS") == chiplets


def tray(topology: str, w: int, h: int, **fields: object) -> Machine:
    """`tiny` with so many SIPs and direct links."""
    shape = {"sips.topology": topology, "sips.count": w * h, "sips.w": w, "sips.h": h}
    return load_machine("tiny", {**shape, "sips.wiring": "direct", **fields})


def path(machine: Machine, src: int, dst: int, intent: Intent = Intent.PE_DMA) -> list[str]:
    nodes = machine.routing.path(src, dst, intent)
    return [machine.node_name[node] for node in nodes]


def test_a_path_passes_ports_and_networks_and_no_cube_between_its_ends() -> None:
    machine = tray("torus_2d", 3, 3)
    places = machine.places
    found = path(machine, places.pe(0, 0, 0).dma, places.hbm(5, 1, 1))
    between = [name for name in found if ".cube" not in name]
    assert between == [
        *("sip0.io0.io_ucie0", "sip0.io0.io_ucie0.conn0", "sip0.io0.io_noc", "sip0.io0.sip_link_W"),
        *("sip2.io0.sip_link_E", "sip2.io0.io_noc", "sip2.io0.sip_link_S"),
        *("sip5.io0.sip_link_N", "sip5.io0.io_noc", "sip5.io0.io_ucie1.conn0", "sip5.io0.io_ucie1"),
    ]
    assert {name.partition(".cube")[0] for name in found if ".cube" in name} == {"sip0", "sip5"}


def test_a_tray_with_direct_links_has_no_switch() -> None:
    machine = tray("ring_1d", 4, 1)
    assert "switch" not in machine.node_kind
    assert EdgeKind.PCIE not in machine.edge_kind
    assert (machine.edge_kind == EdgeKind.SIP).sum() == 2 * 4


def test_the_host_reaches_each_sip_by_its_endpoint() -> None:
    machine = tray("mesh_2d_no_wrap", 2, 2)
    places = machine.places
    found = path(machine, places.pcie_ep(3), places.hbm(3, 1, 0), Intent.M_CPU_DMA)
    assert found[:2] == ["sip3.io0.pcie_ep", "sip3.io0.io_noc"]
    assert all(name.startswith("sip3.") for name in found)
    assert path(machine, places.pcie_ep(0), places.pcie_ep(1), Intent.ALL)[1:4] == [
        *("sip0.io0.io_noc", "sip0.io0.sip_link_E", "sip1.io0.sip_link_W")
    ]


def test_what_stays_in_a_cube_takes_no_direct_link() -> None:
    machine = tray("ring_1d", 2, 1)
    with pytest.raises(
        UnreachableError, match=r"^no route leads from sip0.cube0.m_cpu to sip1.cube0.m_cpu for cube_local"
    ):
        machine.routing.path(machine.places.m_cpu(0, 0), machine.places.m_cpu(1, 0), Intent.CUBE_LOCAL)


def test_what_is_read_comes_back_over_the_links_of_its_request() -> None:
    machine = tray("ring_1d", 4, 1)
    ends = machine.places.pe(1, 0, 0).dma, machine.places.hbm(3, 0, 0), Intent.PE_DMA
    write, read = (machine.routing.route(*ends, kind) for kind in (RouteKind.WRITE, RouteKind.READ))
    assert machine.routing.edges(read) == [edge ^ 1 for edge in reversed(machine.routing.edges(write))]


# From network to network: a hop is three links at 1 ns a flit and two ports of 8 ns. On the chiplet of `tiny` a port of a row
# is 9.5 mm from the network, a port of a column 8.75 mm; neighbours of a row are 20 mm apart, those of a column 26 mm.
ROW_MM, COLUMN_MM = 9.5 + 20 + 9.5, 8.75 + 26 + 8.75
ROUND_MM = 9.5 + 3 * (19 + 20) + 19 + 9.5  # from the first of four SIPs back to the last


@pytest.mark.parametrize(
    ("shape", "dst", "hops", "mm"),
    [
        (("ring_1d", 2, 1), 1, 1, ROW_MM),
        (("ring_1d", 4, 1), 1, 1, ROW_MM),
        (("ring_1d", 4, 1), 2, 2, 2 * ROW_MM),
        (("ring_1d", 4, 1), 3, 1, ROUND_MM),
        (("mesh_2d_no_wrap", 4, 1), 3, 3, 3 * ROW_MM),
        (("torus_2d", 2, 1), 1, 1, ROW_MM),
        (("torus_2d", 2, 2), 2, 1, COLUMN_MM),
        (("torus_2d", 2, 2), 3, 2, ROW_MM + COLUMN_MM),
        (("mesh_2d_no_wrap", 2, 2), 3, 2, ROW_MM + COLUMN_MM),
    ],
)
@pytest.mark.parametrize("flits", [1, 16])
def test_times_by_hand(shape: tuple[str, int, int], dst: int, hops: int, mm: float, flits: int) -> None:
    machine = tray(*shape)
    ns = hops * (3 + 2 * 8) + (flits - 1) + mm / 100
    route = machine.routing.route(machine.places.io_noc(0), machine.places.io_noc(dst), Intent.ALL, RouteKind.MESSAGE)
    assert transfer_fs(machine, route, 256 * flits) == round(ns * 1e6)
    flows = parse_flows([f"sip0.io0.io_noc:sip{dst}.io0.io_noc:{256 * flits}"])
    for mode in ("flit", "hybrid"):
        assert run_flows(machine, flows, mode).end_fs.tolist() == [round(ns * 1e6)]


def test_a_port_and_a_link_cost_what_their_sheet_says() -> None:
    machine = tray("ring_1d", 3, 1, **{"sip_link.overhead_ns": 20, "sip_link.gbs": 64})
    flows = parse_flows(["sip0.io0.io_noc:sip1.io0.io_noc:1KiB"])
    assert run_flows(machine, flows).end_fs.tolist() == [round((3 * 4 + 3 * 4 + 2 * 20 + 0.39) * 1e6)]


def exchange_ns(wiring: str) -> float:
    """The time in which each SIP of a torus sends 16 KiB to each of its four neighbours, by a PE for each."""
    slow = {"pcie_ep.gbs": 16, "sip_link.gbs": 16, "switch.overhead_ns": 0}
    machine = tray("torus_2d", 3, 3, **{**slow, "sips.wiring": wiring})
    flows = [
        f"sip{row * 3 + column}.cube{cube}.pe{pe}:sip{(row + down) % 3 * 3 + (column + right) % 3}.cube{cube}.pe{pe}:16KiB"
        for row, column in product(range(3), range(3))
        for cube, pe, down, right in ((0, 0, 0, 1), (0, 1, 0, -1), (1, 0, 1, 0), (1, 1, -1, 0))
    ]
    return run_flows(machine, parse_flows(flows)).makespan_ns


def test_neighbours_exchange_faster_over_links_of_their_own_than_over_one_switch() -> None:
    direct, switch = exchange_ns("direct"), exchange_ns("switch")
    assert 1024 < direct < 1.2 * 1024  # 16 KiB at 16 GB/s
    assert switch > 4 * 1024
