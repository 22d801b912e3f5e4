"""Alpha and beta over the real paths between SIPs, and collectives on trays with direct links."""

from __future__ import annotations

import pytest

from kernbench import RunResult, run
from kernbench.ccl.alpha_beta import Cost, Link
from kernbench.ccl.topology import SIP_TOPO_RING
from kernbench.ccl.wiring import World, grid_neighbours
from kernbench.machine import Intent, load_machine

CUBE_PORTS = 4  # UCIe ports on the way from a cube to its IO chiplet, and from the other chiplet to a cube


def between(sips: int, **fields: object) -> tuple[Link, float]:
    """The link from the first SIP to the last but one, and the propagation of its path in ns."""
    machine = load_machine(
        "tiny", {"sips.count": sips, **{name.replace("__", "."): value for name, value in fields.items()}}
    )
    world = World(ranks=sips, kind=SIP_TOPO_RING, sip_w=sips, sip_h=1, cube_w=2, cube_h=1)
    link = Cost(machine, grid_neighbours, world, range(sips), cube=0, pe=0, slot_bytes=4096).link(0, 0, "global_E")
    assert link is not None
    source, target = machine.places.pe(0, 0, 0).dma, machine.places.pe(1, 0, 0).dma
    edges = machine.routing.edges_between(source, target, Intent.PE_DMA)
    return link, float(machine.stations.propagation_fs[edges].sum()) / 1e6


@pytest.mark.parametrize(
    ("fields", "overhead_ns", "ns_per_byte"),
    [
        ({}, CUBE_PORTS * 8 + 8 + 194 + 8, 1 / 128),
        ({"pcie_ep__store_and_forward": True}, CUBE_PORTS * 8 + 8 + 194 + 8, 1 / 128 + 1 / 256 + 1 / 128),
        ({"sips__wiring": "direct"}, CUBE_PORTS * 8 + 2 * 8, 1 / 128),
        ({"sips__wiring": "direct", "sip_link__gbs": 16}, CUBE_PORTS * 8 + 2 * 8, 1 / 16),
        ({"sips__wiring": "direct", "sip_link__overhead_ns": 100}, CUBE_PORTS * 8 + 2 * 100, 1 / 128),
    ],
)
def test_a_link_between_sips(fields: dict[str, object], overhead_ns: float, ns_per_byte: float) -> None:
    link, wires_ns = between(4, **fields)
    assert link.alpha_ns == pytest.approx(overhead_ns + wires_ns)
    assert link.beta_ns == pytest.approx(ns_per_byte)


def all_reduce(topology: str, wiring: str, algorithm: str, nbytes: int) -> RunResult:
    """An all-reduce over 3 × 3 small SIPs, with its numbers checked and its bound held."""
    parameters = {"n_sips": 9, "sip_topology": topology, "sips_w": 3, "sips_h": 3, "bytes_per_pe": nbytes}
    result = run(
        "ccl-allreduce",
        "tiny",
        parameters={**parameters, "algorithm": algorithm},
        overrides={"sips.wiring": wiring},
        verify=True,
    )
    (one,) = result.collectives
    assert result.verified
    assert one["bound_ns"] <= one["latency_ns"]
    return result


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ring", "lrab_hierarchical_allreduce"])
@pytest.mark.parametrize("nbytes", [256, 32768])
def test_with_direct_links_a_torus_beats_a_mesh_and_both_beat_the_switch(algorithm: str, nbytes: int) -> None:
    torus, mesh = (all_reduce(topology, "direct", algorithm, nbytes) for topology in ("torus_2d", "mesh_2d_no_wrap"))
    assert torus.latency_ns < 0.9 * mesh.latency_ns
    for topology, direct in (("torus_2d", torus), ("mesh_2d_no_wrap", mesh)):
        assert direct.latency_ns < all_reduce(topology, "switch", algorithm, nbytes).latency_ns


@pytest.mark.slow
def test_on_one_switch_a_ring_of_ranks_is_as_fast_on_any_topology() -> None:
    torus, mesh = (all_reduce(topology, "switch", "ring", 4096) for topology in ("torus_2d", "mesh_2d_no_wrap"))
    assert torus.latency_ns == pytest.approx(mesh.latency_ns, rel=0.01)
