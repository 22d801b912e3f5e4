"""The default machine against the numbers of its description."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from kernbench.machine import EdgeKind, Intent, load_machine
from kernels_jit.routing import dijkstra


@pytest.fixture(scope="module")
def machine():
    return load_machine("sip_2x4x4")


def test_how_many_of_everything(machine):
    kinds = Counter(machine.node_kind)
    assert kinds == {
        "switch": 1, "pcie_ep": 2, "io_cpu": 2, "io_noc": 2, "io_ucie": 8, "conn": 2 * 16 + 32 * 16, "router": 32 * 32,
        "ucie": 32 * 4, "m_cpu": 32, "sram": 32, "hbm_ctrl": 256,
        **{f"pe_{part}": 256 for part in
           ("cpu", "scheduler", "dma", "fetch_store", "gemm", "math", "tcm", "mmu", "ipcq")},
    }  # fmt: skip
    assert Counter(machine.server_kind) == {
        "cpu": 256 + 32 + 4, "scheduler": 256, "dma_read": 256, "dma_write": 256, "fetch_store": 256, "gemm": 256,
        "math": 256, "tcm_read": 256, "tcm_write": 256, "ipcq": 256, "ipcq_read": 256, "ipcq_write": 256,
    }  # fmt: skip
    assert len(machine.terminals) == 256 + 32
    assert len(machine.station_name) == machine.edge_count + 256 * 8 + 32


def test_names_and_numbers_go_both_ways(machine):
    assert len(set(machine.node_name)) == machine.node_count
    assert all(machine.node_name[node] == name for name, node in machine.node_id.items())
    assert len(set(machine.station_name)) == len(machine.station_name)
    assert len(set(machine.server_name)) == len(machine.server_name)


def test_every_link_has_its_way_back(machine):
    back = np.arange(machine.edge_count) ^ 1
    assert np.array_equal(machine.edge_src, machine.edge_dst[back])
    assert np.array_equal(machine.edge_um, machine.edge_um[back])
    assert np.array_equal(machine.edge_gbs, machine.edge_gbs[back])


def _edge(machine, a, b):
    src, dst = machine.find_node(a), machine.find_node(b)
    (edge,) = np.flatnonzero((machine.edge_src == src) & (machine.edge_dst == dst))
    return edge


@pytest.mark.parametrize(
    ("a", "b", "gbs", "mm", "kind"),
    [
        ("sip0.cube0.r0c0", "sip0.cube0.r0c1", 256, 3.0, EdgeKind.NOC),
        ("sip0.cube0.r0c0", "sip0.cube0.r1c0", 256, 2.5, EdgeKind.NOC),
        ("sip1.cube5.pe3.pe_dma", "sip1.cube5.r1c5", 256, 0.5, EdgeKind.NOC),
        ("sip1.cube5.r1c5", "sip1.cube5.hbm_ctrl.pe3", 256, 0.5, EdgeKind.NOC),
        ("sip0.cube0.m_cpu", "sip0.cube0.r0c2", 256, 0.75, EdgeKind.NOC),
        ("sip0.cube0.sram", "sip0.cube0.r3c0", 128, 0.5, EdgeKind.NOC),
        ("sip0.cube0.r1c5", "sip0.cube0.ucie_E.conn0", 128, 1.5, EdgeKind.UCIE),
        ("sip0.cube0.ucie_E", "sip0.cube1.ucie_W", 512, 1.0, EdgeKind.UCIE),
        ("sip0.cube0.ucie_S", "sip0.cube4.ucie_N", 512, 1.0, EdgeKind.UCIE),
        ("sip0.io0.io_ucie2", "sip0.cube2.ucie_N", 512, 1.0, EdgeKind.UCIE),
        ("sip0.io0.io_noc", "sip0.io0.io_ucie2.conn3", 128, 15.5, EdgeKind.IO),
        ("sip0.io0.pcie_ep", "sip0.io0.io_noc", 256, 3.0, EdgeKind.IO),
        ("sip0.io0.io_noc", "sip0.io0.io_cpu", 256, 3.0, EdgeKind.COMMAND),
        ("sip1.io0.pcie_ep", "switch", 256, 67.5, EdgeKind.PCIE),
        ("sip0.cube0.pe0.pe_cpu", "sip0.cube0.r0c0", 256, 0.5, EdgeKind.COMMAND),
        ("sip0.cube0.pe0.pe_dma", "sip0.cube0.pe0.pe_tcm", 512, 0.0, EdgeKind.PE),
    ],
)
def test_links(machine, a, b, gbs, mm, kind):
    edge = _edge(machine, a, b)
    assert (machine.edge_gbs[edge], machine.edge_um[edge], machine.edge_kind[edge]) == (gbs, 1000 * mm, kind)
    assert machine.stations.fs_per_flit[edge] == 256 * 1_000_000 // gbs
    assert machine.stations.propagation_fs[edge] == mm * 10_000


def test_only_chaining_inside_a_pe_is_free_of_length(machine):
    assert set(machine.edge_kind[machine.edge_um == 0]) == {EdgeKind.PE}


def test_the_hole_is_empty(machine):
    assert "sip0.cube0.r2c2" not in machine.node_id
    assert "sip0.cube0.r2c1" in machine.node_id


def test_memory_channels(machine):
    hbm = machine.terminals[machine.places.hbm(1, 15, 7)]
    assert (hbm.stripes, hbm.overhead_fs) == (8, 0)
    channels = slice(hbm.first_station, hbm.first_station + 8)
    assert set(machine.stations.fs_per_flit[channels]) == {8_000_000}
    assert set(machine.stations.quantum_bytes[channels]) == {256}
    assert machine.station_name[hbm.first_station + 3] == "sip1.cube15.hbm_ctrl.pe7.ch3"
    sram = machine.terminals[machine.places.sram(0, 0)]
    assert (sram.stripes, sram.overhead_fs, machine.stations.fs_per_flit[sram.first_station]) == (
        1,
        2_000_000,
        2_000_000,
    )


def test_figures_that_programs_pay_by(machine):
    wanted = {
        "zero": 0, "ns": 1_000_000, "io_cpu.overhead": 10_000_000, "m_cpu.overhead": 5_000_000, "pcie_ep.overhead": 8_000_000,
        "pe_cpu.overhead": 2_000_000, "pe_cpu.cycle": 1_000_000, "pe_scheduler.overhead": 1_000_000, "pe_mmu.tlb": 500_000,
        "pe_tcm.read_byte": 1953.125, "pe_tcm.write_byte": 1953.125, "pe_gemm.flop_16": 125, "pe_gemm.flop_32": 250,
        "pe_gemm.flop_8": 62.5, "pe_math.element_16": 3906.25, "pe_math.element_32": 7812.5, "pe_math.element_8": 1953.125,
        "pe_dma.overhead": 0, "pe.tile_m": 32, "pe.tile_k": 64, "pe.tile_n": 32, "pe_tcm.bytes": 2**24,
        "pe.scratch_bytes": 2**20, "hbm.slice_bytes": 6 * 2**30, "hbm.burst_bytes": 256, "hbm.channels": 8,
        "mmu.page_bytes": 4096, "mmu.va_base": 2**32, "mmu.va_bytes": 2**36, "mmu.entry_bytes": 16, "command.bytes": 64,
        "pe_cpu.dispatch_cycles": 0,
    }  # fmt: skip
    assert {name: machine.figures[name] for name in wanted} == wanted
    assert 2 * 32 * 64 * 32 * machine.figures["pe_gemm.flop_16"] == 16_384_000


def test_positions(machine):
    def at(name):
        node = machine.find_node(name)
        return machine.node_x_mm[node], machine.node_y_mm[node]

    assert at("sip0.cube0.r0c0") == (1.5, 7 + 1.25)
    assert at("sip0.cube5.r0c0") == (19 + 1.5, 7 + 16 + 1.25)
    assert at("sip0.io0.pcie_ep") == (37.5, 0.0)
    assert at("sip1.io0.pcie_ep") == (75 + 20 + 37.5, 0.0)
    assert at("switch") == (85.0, -20.0)


@pytest.mark.slow
@pytest.mark.parametrize("intent", list(Intent))
def test_the_matrix_gives_the_same_ways_as_the_rows(intent):
    machine = load_machine("tiny", {"sips.count": 2})
    weights = machine.weights(intent)
    rows = machine.csr(intent)
    for source in range(0, machine.node_count, 7):
        dense = dijkstra.dense_distances(weights, source)
        assert np.array_equal(dense, dijkstra.sparse_distances(*rows[:3], source, -1))


@pytest.mark.parametrize(
    ("at", "router"),
    [
        ("[7.5, 2.0]", "r0c2"),  # as shipped: 0.75 mm from r0c2, 1.75 mm from r1c2
        ("[7.5, 3.2]", "r1c2"),
        ("[13.4, 12.2]", "r4c4"),
        ("[11.0, 6.3]", "r2c4"),  # in the hole, beside r2c3, which is not there
    ],
)
def test_what_has_a_place_joins_the_nearest_router(at, router):
    machine = load_machine("sip_2x4x4", {"cube.m_cpu_mm": at, "cube.sram_mm": at, "sips.count": 1})
    for part in ("m_cpu", "sram"):
        node = machine.find_node(f"sip0.cube3.{part}")
        (edge,) = np.flatnonzero(machine.edge_src == node)
        assert machine.node_name[machine.edge_dst[edge]] == f"sip0.cube3.{router}"


def test_what_is_attached_to_a_cube_meets_its_routers_alone(machine):
    """Every link of a cube outside its PEs has a router at an end, but those from the connections of a port to the port."""
    kind = np.array(machine.node_kind)
    cube = machine.places.cube_of()
    inside = (cube[machine.edge_src] >= 0) & (cube[machine.edge_src] == cube[machine.edge_dst])
    pairs = set(zip(kind[machine.edge_src[inside]].tolist(), kind[machine.edge_dst[inside]].tolist(), strict=True))
    apart = {frozenset(pair) for pair in pairs if "router" not in pair and not all(k.startswith("pe_") for k in pair)}
    assert apart == {frozenset(("conn", "ucie"))}
    attached = {other for pair in pairs for other in pair if "router" in pair} - {"router"}
    assert attached == {"conn", "hbm_ctrl", "m_cpu", "sram", "pe_cpu", "pe_dma", "pe_mmu"}
