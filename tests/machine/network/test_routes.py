"""Paths through the default machine and through graphs that can be checked by hand, and the times of round trips."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from kernbench.errors import UnreachableError
from kernbench.library import find
from kernbench.machine import EdgeKind, Intent, RouteKind, load_machine
from kernbench.machine.builder import Builder
from kernbench.machine.families.sip.places import SipShape
from kernbench.machine.families.sip.spec import parse_router
from kernbench.machine.load import compile_machine
from kernbench.machine.network import shortest_paths
from kernbench.machine.sheets.quantities import NO_TIME, Rate
from tests.machine.alone import transfer_fs

NS = 1_000_000


@pytest.fixture(scope="module")
def machine():
    return load_machine("sip_2x4x4")


@pytest.fixture(scope="module")
def tiny():
    return load_machine("tiny")


def _routers(machine, path):
    names = [machine.node_name[node].rpartition(".")[2] for node in path]
    return [parse_router(name) for name in names if re.fullmatch(r"r\d+c\d+", name)]


def _xy(src, dst):
    (r0, c0), (r1, c1) = src, dst
    across = [(r0, c) for c in range(c0, c1, 1 if c1 > c0 else -1)]
    return [*across, *((r, c1) for r in range(r0, r1, 1 if r1 > r0 else -1)), dst]


HOLE = {(2, 2), (2, 3), (3, 2), (3, 3)}


def test_ways_inside_a_cube_go_horizontally_first_where_no_hole_is_in_the_way(machine):
    checked = 0
    for intent in (Intent.PE_DMA, Intent.CUBE_LOCAL, Intent.M_CPU_DMA, Intent.ALL):
        for pe in range(8):
            source = machine.places.pe(1, 6, pe)
            start = source.router if intent == Intent.M_CPU_DMA else source.dma
            for slice_ in range(8):
                path = machine.routing.path(start, machine.places.hbm(1, 6, slice_), intent)
                routers = _routers(machine, path)
                wanted = _xy(routers[0], routers[-1])
                assert not any("ucie" in machine.node_name[node] for node in path)
                if not HOLE & set(wanted):
                    assert routers == wanted
                    checked += 1
    assert checked == 4 * 64


def test_ways_round_the_hole_stay_in_the_cube_and_are_no_longer_than_they_must(machine):
    r2c1, r2c4 = machine.find_node("sip0.cube0.r2c1"), machine.find_node("sip0.cube0.r2c4")
    path = machine.routing.path(r2c1, r2c4, Intent.PE_DMA)
    assert _routers(machine, path) == [(2, 1), (1, 1), (1, 2), (1, 3), (1, 4), (2, 4)]


def test_ways_between_cubes_cross_as_few_dies_as_possible(machine):
    places = machine.places
    for src in range(0, 16, 3):
        for dst in range(16):
            path = machine.routing.path(places.pe(0, src, 0).dma, places.hbm(0, dst, 0), Intent.PE_DMA)
            names = [machine.node_name[node] for node in path]
            crossings = sum(bool(re.fullmatch(r".*ucie_[NSEW]", name)) for name in names) // 2
            assert crossings == abs(src // 4 - dst // 4) + abs(src % 4 - dst % 4)
            assert not any(".io0." in name for name in names)


def test_ways_between_packages_go_through_the_switch(machine):
    places = machine.places
    path = machine.routing.path(places.pe(0, 5, 3).dma, places.hbm(1, 9, 2), Intent.PE_DMA)
    assert {places.pcie_ep(0), places.switch(), places.pcie_ep(1)} <= set(path)


def test_a_launch_reaches_the_pe_over_the_mesh(tiny):
    places = tiny.places
    down = [tiny.node_name[n] for n in tiny.routing.path(places.pcie_ep(0), places.io_cpu(0), Intent.ALL)]
    assert down == ["sip0.io0.pcie_ep", "sip0.io0.io_noc", "sip0.io0.io_cpu"]
    last = [tiny.node_name[n] for n in tiny.routing.path(places.m_cpu(0, 1), places.pe(0, 1, 1).cpu, Intent.ALL)]
    assert last == [f"sip0.cube1.{part}" for part in ("m_cpu", "r0c1", "r0c2", "r1c2", "pe1.pe_cpu")]


def test_dma_routes_never_use_command_links(machine):
    with pytest.raises(UnreachableError) as caught:
        machine.routing.route(machine.places.pcie_ep(0), machine.places.io_cpu(0), Intent.PE_DMA, RouteKind.MESSAGE)
    assert str(caught.value) == (
        "no route leads from sip0.io0.pcie_ep to sip0.io0.io_cpu for pe_dma traffic; check the links of topology sip_2x4x4"
    )


def test_reading_what_is_no_memory_is_refused(tiny):
    with pytest.raises(UnreachableError) as caught:
        tiny.routing.route(tiny.places.pe(0, 0, 0).dma, tiny.places.m_cpu(0, 0), Intent.ALL, RouteKind.READ)
    assert str(caught.value) == (
        "sip0.cube0.m_cpu is no memory, so nothing can be read or written there from sip0.cube0.pe0.pe_dma; "
        "name an HBM controller or an SRAM"
    )


def test_a_failed_route_leaves_the_tables_whole(tiny):
    before = tiny.routing.tables()
    with pytest.raises(UnreachableError):
        tiny.routing.route(tiny.places.pe(0, 0, 0).dma, tiny.places.m_cpu(0, 0), Intent.ALL, RouteKind.WRITE)
    assert tiny.routing.tables() is before


def test_routes_are_interned(tiny):
    ask = (tiny.places.pe(0, 0, 0).dma, tiny.places.hbm(0, 1, 0), Intent.PE_DMA, RouteKind.READ)
    assert tiny.routing.route(*ask) == tiny.routing.route(*ask)


def test_the_steps_of_a_write_and_of_a_read(tiny):
    """pe0 of cube0 at r0c0 → east port → cube1's west port → r0c0 → its pe0's slice."""
    src, dst = tiny.places.pe(0, 0, 0).dma, tiny.places.hbm(0, 1, 0)
    write = tiny.routing.route(src, dst, Intent.PE_DMA, RouteKind.WRITE)
    read = tiny.routing.route(src, dst, Intent.PE_DMA, RouteKind.READ)
    tables, channels = tiny.routing.tables(), tiny.terminals[dst]
    out = tiny.routing.edges(write)
    names = [tiny.station_name[edge] for edge in out]
    assert names[0] == "sip0.cube0.pe0.pe_dma -> sip0.cube0.r0c0"
    assert names[-1] == "sip0.cube1.r0c0 -> sip0.cube1.hbm_ctrl.pe0"
    assert tiny.routing.edges(read) == [edge ^ 1 for edge in reversed(out)]

    steps = slice(tables.start[write], tables.start[write + 1])
    assert tables.station[steps].tolist() == [*out, channels.first_station]
    assert tables.stripes[steps].tolist() == [*[1] * len(out), 8]
    paid = dict(zip([*names, "memory"], tables.overhead_fs[steps].tolist(), strict=True))
    assert {name: fs for name, fs in paid.items() if fs} == {
        "sip0.cube0.ucie_E -> sip0.cube1.ucie_W": 8 * NS,
        "sip0.cube1.ucie_W -> sip0.cube1.ucie_W.conn0": 8 * NS,
    }
    way = int(tiny.stations.propagation_fs[out].sum())
    assert way == 10 * int(tiny.edge_um[out].sum()) > 0
    assert (tables.lead_fs[write], tables.tail_fs[write], tables.propagation_fs[write]) == (0, way, way)
    assert (tables.lead_fs[read], tables.tail_fs[read], tables.propagation_fs[read]) == (way, 0, way)
    assert (tables.direction[write], tables.direction[read]) == (1, 0)
    steps = slice(tables.start[read], tables.start[read + 1])
    assert tables.station[steps].tolist() == [channels.first_station, *(edge ^ 1 for edge in reversed(out))]


def test_sram_charges_its_access_time(tiny):
    route = tiny.routing.route(tiny.places.pe(0, 0, 0).dma, tiny.places.sram(0, 0), Intent.PE_DMA, RouteKind.WRITE)
    assert tiny.routing.tables().overhead_fs[-1] == 2 * NS
    assert tiny.routing.tables().stripes[tiny.routing.tables().start[route + 1] - 1] == 1


@pytest.mark.parametrize("stores", [False, True])
def test_endpoints_hold_whole_messages_if_asked_and_their_ends_charge_nothing(stores):
    machine = load_machine("sip_2x4x4", {"pcie_ep.store_and_forward": stores})
    places = machine.places
    route = machine.routing.route(places.pcie_ep(0), places.pcie_ep(1), Intent.ALL, RouteKind.MESSAGE)
    tables = machine.routing.tables()
    steps = slice(tables.start[route], tables.start[route + 1])
    assert tables.store_and_forward[steps].tolist() == [0, 0]
    assert tables.overhead_fs[steps].tolist() == [0, 194 * NS]
    route = machine.routing.route(places.io_cpu(0), places.io_cpu(1), Intent.ALL, RouteKind.MESSAGE)
    tables = machine.routing.tables()
    steps = slice(tables.start[route], tables.start[route + 1])
    assert tables.store_and_forward[steps].tolist() == [0, 0, stores, 0, stores, 0]
    assert tables.overhead_fs[steps].tolist() == [0, 0, 8 * NS, 194 * NS, 8 * NS, 0]


def test_a_message_to_itself_passes_nothing(tiny):
    node = tiny.places.m_cpu(0, 0)
    route = tiny.routing.route(node, node, Intent.ALL, RouteKind.MESSAGE)
    tables = tiny.routing.tables()
    assert tables.start[route] == tables.start[route + 1]


@pytest.mark.parametrize("kind", [RouteKind.WRITE, RouteKind.READ])
def test_sixteen_kib_to_the_own_slice_take_73_ns_and_propagation(machine, kind):
    pe = machine.places.pe(0, 0, 0)
    route = machine.routing.route(pe.dma, machine.places.hbm(0, 0, 0), Intent.PE_DMA, kind)
    wires = 2 * 2 * 500 * 10  # there and back, two links of 0.5 mm at 10 fs a µm
    assert transfer_fs(machine, route, 16 * 1024) == 73 * NS + wires
    cpu_scheduler_tlb = (
        machine.figures["pe_cpu.overhead"] + machine.figures["pe_scheduler.overhead"] + machine.figures["pe_mmu.tlb"]
    )
    assert transfer_fs(machine, route, 16 * 1024) + cpu_scheduler_tlb == pytest.approx(77 * NS, rel=0.03)


@pytest.mark.parametrize(("nbytes", "ns"), [(64 * 1024, 545), (1024 * 1024, 8230)])
def test_host_writes_meet_their_calibration_points(machine, nbytes, ns):
    places = machine.places
    route = machine.routing.route(places.pcie_ep(0), places.hbm(0, 0, 0), Intent.ALL, RouteKind.WRITE)
    assert transfer_fs(machine, route, nbytes) + machine.figures["pcie_ep.overhead"] == pytest.approx(ns * NS, rel=0.03)


def test_a_write_to_the_other_package_meets_its_calibration_point(machine):
    places = machine.places
    route = machine.routing.route(places.pe(0, 0, 0).dma, places.hbm(1, 0, 0), Intent.PE_DMA, RouteKind.WRITE)
    assert transfer_fs(machine, route, 16 * 1024) + 3.5 * NS == pytest.approx(409 * NS, rel=0.03)


def test_store_and_forward_pays_the_serialisation_of_each_stage(machine):
    """Between the PEs of two packages: 16 KiB at 128 GB/s once, or at 128, 256 and 128 GB/s one after the other."""
    stores = load_machine("sip_2x4x4", {"pcie_ep.store_and_forward": True})
    took = []
    for tray in (machine, stores):
        places = tray.places
        route = tray.routing.route(places.pe(0, 0, 0).dma, places.hbm(1, 0, 0), Intent.PE_DMA, RouteKind.WRITE)
        took.append(transfer_fs(tray, route, 16 * 1024))
    assert took[1] - took[0] == 63 * (2 + 1) * NS  # the 63 flits behind the first


def test_distances_follow_the_ways(machine):
    places = machine.places
    src, dst = places.pe(0, 0, 2).dma, places.hbm(0, 7, 1)
    edges = machine.routing.edges_between(src, dst, Intent.PE_DMA)
    assert machine.routing.distance(src, dst, Intent.PE_DMA) == int(machine.edge_weight[edges].sum())


@pytest.mark.parametrize(
    ("topology", "overrides"),
    [("tiny", {}), ("torus_8x8", {}), ("torus_8x8", {"one_way": True, "w": 5}), ("sip_2x4x4", {})],
)
def test_ways_without_trees_are_the_same(topology, overrides, monkeypatch):
    machine = load_machine(topology, overrides)
    nodes = np.random.default_rng(0).integers(0, machine.node_count, (100, 2)).tolist()
    for intent in (Intent.ALL, Intent.M_CPU_DMA):
        ways = [_way(machine, src, dst, intent) for src, dst in nodes]
        with monkeypatch.context() as patch:
            patch.setattr(shortest_paths, "_TREE_NODES", 0)
            assert [_way(machine, src, dst, intent) for src, dst in nodes] == ways


def _way(machine, src, dst, intent):
    try:
        return machine.routing.edges_between(src, dst, intent)
    except UnreachableError as error:
        return str(error)


def _one_way_ring():
    """Three routers a, b and c in a ring whose links take 1, 2 and 4 ns, and a memory 10 ns behind c and 20 ns before it."""
    builder = Builder()
    a, b, c, memory = (builder.node(name, "router", (0, 0)) for name in ("a", "b", "c", "memory"))
    for src, dst, ns in ((a, b, 1), (b, c, 2), (c, a, 4)):
        builder.link(src, dst, EdgeKind.NOC, Rate(256), um=1000, delays_fs=(ns * NS, 99 * NS), one_way=True)
    builder.link(c, memory, EdgeKind.NOC, Rate(256), um=1000, delays_fs=(10 * NS, 20 * NS))
    builder.memory(memory, stripes=1, rate=Rate(256), quantum_bytes=1, overhead=NO_TIME)
    return builder.finish(
        name="ring",
        family="sip",
        digest="",
        flit_bytes=256,
        ns_per_mm=0,
        figures={},
        origins={},
        shape=SipShape(0, 0, 0, "none", 0, 0, 0, (), 1),
    )


def test_what_comes_back_on_one_way_links_goes_on_around_the_ring():
    """A flit takes 1 ns at each station: 13 ns of wires lead to the memory, 24 ns back to a."""
    ring = _one_way_ring()
    assert [ring.node_name[node] for node in ring.routing.path(3, 0, Intent.ALL)] == ["memory", "c", "a"]
    write, read = (ring.routing.route(0, 3, Intent.ALL, kind) for kind in (RouteKind.WRITE, RouteKind.READ))
    assert transfer_fs(ring, write, 256) == (3 + 13 + 1 + 24) * NS
    assert transfer_fs(ring, read, 256) == (13 + 1 + 2 + 24) * NS
    assert [ring.station_name[edge] for edge in ring.routing.edges(read)] == ["memory -> c", "c -> a"]
    message = ring.routing.route(0, 1, Intent.ALL, RouteKind.ACKNOWLEDGED)
    assert transfer_fs(ring, message, 512) == (2 + 1 + 2 + 4) * NS
    near = ring.routing.route(2, 3, Intent.ALL, RouteKind.WRITE)
    assert transfer_fs(ring, near, 256) == (1 + 10 + 1 + 20) * NS


def test_no_intent_has_the_closed_direction_of_a_link():
    ring = _one_way_ring()
    for intent in Intent:
        assert not (ring.edge_kind[ring.csr(intent).edge] == EdgeKind.CLOSED).any()
        assert [ring.node_name[node] for node in ring.routing.path(1, 0, intent)] == ["b", "c", "a"]


def test_trees_are_kept(tiny):
    first = tiny.routing.tree(0, Intent.ALL)
    assert tiny.routing.tree(0, Intent.ALL) is first
    assert np.count_nonzero(first < 0) == 1  # all but the source are reached


WAYS = """
from kernbench.machine import Intent, load_machine
from kernbench.machine import load
load.load_compiled, load.save_compiled = lambda key: None, lambda key, machine: None
machine = load_machine("tiny", {"sips.count": 2})
routing, places = machine.routing, machine.places
ends = [places.pe(sip, cube, pe).dma for sip in range(2) for cube in range(2) for pe in range(2)]
ends += [places.hbm(sip, cube, pe) for sip in range(2) for cube in range(2) for pe in range(2)]
ends += [places.pcie_ep(0), places.pcie_ep(1)]
print(machine.digest, [routing.path(a, b, Intent.PE_DMA) for a in ends for b in ends])
"""


@pytest.mark.slow
def test_ways_are_the_same_in_any_process():
    """Whatever the seed of hashes, each process compiling the machine for itself."""
    found = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run([sys.executable, "-c", WAYS], capture_output=True, text=True, check=True, env=environment)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop()) > 10_000


def test_the_farther_the_memory_the_longer_it_takes(machine):
    """Own slice, another slice of the cube, the next cube, the next but one, the other package."""
    places, pe = machine.places, machine.places.pe(0, 0, 0)
    slices = [places.hbm(0, 0, 0), places.hbm(0, 0, 7), places.hbm(0, 1, 0), places.hbm(0, 2, 0), places.hbm(1, 0, 0)]
    for kind in (RouteKind.READ, RouteKind.WRITE):
        for nbytes in (256, 64 * 1024):
            took = [
                transfer_fs(machine, machine.routing.route(pe.dma, node, Intent.PE_DMA, kind), nbytes)
                for node in slices
            ]
            assert all(nearer < farther for nearer, farther in pairwise(took))


def test_threads_may_share_the_routes_of_a_machine():
    """Ids and tables agree, whichever thread asks for a route first."""
    machine = compile_machine(find("topology", "tiny"), {})
    places, routing = machine.places, machine.routing
    pes = [places.pe(0, cube, pe).dma for cube in range(places.cubes_per_sip) for pe in range(places.pes_per_cube)]
    pairs = [(pe, places.hbm(0, cube, 0)) for pe in pes for cube in range(places.cubes_per_sip)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            asked = [
                threads.submit(
                    lambda pair: (routing.route(*pair, Intent.PE_DMA, RouteKind.READ), routing.tables()), pair
                )
                for pair in pairs * 4
            ]
            found = [one.result()[0] for one in asked]
    finally:
        sys.setswitchinterval(before)
    assert sorted(set(found)) == list(range(len(pairs)))
    assert len(routing.tables().start) == routing.route_count + 1 == len(pairs) + 1
    other = compile_machine(find("topology", "tiny"), {}).routing
    for pair, route in zip(pairs, found, strict=False):
        assert routing.edges(route) == other.edges(other.route(*pair, Intent.PE_DMA, RouteKind.READ))


@pytest.mark.parametrize("chiplets", [1, 2])
def test_paths_by_the_switch_are_the_shortest_of_all(chiplets):
    machine = load_machine("tiny", {"sips.count": 4, "sip.io_chiplets": chiplets})
    rng = np.random.default_rng(chiplets)
    dmas = [machine.places.pe(sip, cube, 0).dma for sip in range(4) for cube in range(2)]
    others = [
        machine.places.switch(),
        *machine.places.pcie_eps(3),
        machine.places.hbm(2, 1, 0),
        machine.places.m_cpu(1, 0),
    ]
    for _ in range(60):
        src, dst = (int(node) for node in rng.choice([*dmas, *others], 2, replace=False))
        for intent in (Intent.ALL, Intent.PE_DMA, Intent.M_CPU_DMA):
            tree = machine.routing.tree(src, intent)
            if tree[dst] < 0:
                with pytest.raises(UnreachableError):
                    machine.routing.path(src, dst, intent)
                continue
            edges, node = [], dst
            while node != src:
                edges.append(int(tree[node]))
                node = int(machine.edge_src[tree[node]])
            assert machine.routing.edges_between(src, dst, intent) == edges[::-1]
