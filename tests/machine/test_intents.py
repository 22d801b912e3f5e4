"""The links that each intent may not use, and the penalties of links, on the default machine."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.machine import EdgeKind, Intent, Machine, load_machine
from kernbench.machine.intents import allowed_edges

CONTROL = {"pe_cpu", "pe_mmu", "io_cpu"}
INSIDE_A_PE = {
    f"pe_{part}" for part in ("cpu", "scheduler", "dma", "fetch_store", "gemm", "math", "tcm", "mmu", "ipcq")
}


@pytest.fixture(scope="module")
def tiny() -> Machine:
    return load_machine("tiny", {"sips.count": 2})


def links(machine: Machine, intent: Intent) -> list[tuple[str, str]]:
    """The kinds of both ends of every link that traffic of an intent may use."""
    edges = machine.csr(intent).edge
    return [(machine.node_kind[machine.edge_src[e]], machine.node_kind[machine.edge_dst[e]]) for e in edges]


def test_four_graphs_of_their_own(tiny: Machine) -> None:
    assert len(Intent) == 4
    edges = {intent: allowed_edges(tiny.edge_kind, intent).tolist() for intent in Intent}
    assert edges[Intent.ALL] == list(range(tiny.edge_count))
    assert len({tuple(found) for found in edges.values()}) == 4


@pytest.mark.parametrize("intent", [Intent.PE_DMA, Intent.CUBE_LOCAL])
def test_dma_of_pes_has_no_link_into_a_control_processor(tiny: Machine, intent: Intent) -> None:
    ends = {kind for src, dst in links(tiny, intent) for kind, other in ((src, dst), (dst, src)) if other == "router"}
    assert EdgeKind.COMMAND not in tiny.edge_kind[allowed_edges(tiny.edge_kind, intent)]
    assert {"pe_dma", "hbm_ctrl", "sram", "m_cpu"} <= ends
    assert not ends & CONTROL
    assert any(CONTROL & set(pair) for pair in links(tiny, Intent.ALL))


def test_dma_of_m_cpus_has_no_way_through_a_pe(tiny: Machine) -> None:
    assert [pair for pair in links(tiny, Intent.ALL) if set(pair) <= INSIDE_A_PE]
    assert not [pair for pair in links(tiny, Intent.M_CPU_DMA) if set(pair) <= INSIDE_A_PE]


def test_what_stays_in_a_cube_knows_no_port(tiny: Machine) -> None:
    kinds = {kind for pair in links(tiny, Intent.CUBE_LOCAL) for kind in pair}
    assert not kinds & {"ucie", "conn", "io_ucie", "pcie_ep", "switch"}
    reached = tiny.routing.tree(tiny.places.m_cpu(0, 0), Intent.CUBE_LOCAL) >= 0
    assert set(tiny.places.cube_of()[np.flatnonzero(reached)]) == {0}


def test_a_port_is_dearer_than_all_links_of_a_cube_whatever_its_length() -> None:
    machine = load_machine("sip_2x4x4")
    kind = np.array(machine.node_kind)
    in_cube = machine.places.cube_of()[machine.edge_src] == 0
    mesh = in_cube & (machine.edge_kind == EdgeKind.NOC)
    ports = in_cube & (kind[machine.edge_src] == "conn") & (kind[machine.edge_dst] == "ucie")
    assert ports.sum() == 4 * 4
    assert machine.edge_um[ports].max() < machine.edge_um[mesh].sum() < machine.edge_weight[ports].min()
