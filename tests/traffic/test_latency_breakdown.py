"""The zero-load latency of a flow: by hand, and against the engine."""

from __future__ import annotations

import random

import pytest

from kernbench.machine import load_machine
from kernbench.machine.machine import Machine
from kernbench.traffic.flow_routing import FlowRoute, find_flow_routes
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.latency_breakdown import LatencyBreakdown, predict_flow
from kernbench.traffic.run import run_flows


def predict(machine: Machine, text: str) -> LatencyBreakdown:
    flows = parse_flows([text])
    return predict_flow(machine, FlowRoute(*find_flow_routes(machine, flows)[0][0].tolist()), int(flows.nbytes[0]))


def actual_fs(machine: Machine, text: str) -> int:
    return int(run_flows(machine, parse_flows([text])).latency_fs[0])


def test_by_hand() -> None:
    """16 KiB to the own slice: 1 mm of wires there and back, a PE's 3.5 ns, 2 links of 1 ns and 63 more flits, 8 ns."""
    found = predict(load_machine("tiny"), "sip0.cube0.pe0:sip0.cube0.pe0:16KiB")
    assert (found.wire_fs, found.overhead_fs, found.serialisation_fs, found.commit_fs) == (
        20_000,
        3_500_000,
        65_000_000,
        8_000_000,
    )
    assert found.total_fs == 76_520_000
    assert found.bottleneck_gbs == 256
    # Three links and eight channels are as slow; the first of the links stands for them.
    assert found.bottleneck == "sip0.cube0.pe0.pe_dma -> sip0.cube0.r0c0 and sip0.cube0.hbm_ctrl.pe0"
    assert not found.catches_up


def test_wires_of_an_acknowledgement() -> None:
    """A flit around 3 links of 1 ns and 2 of the ends, and back by one link more."""
    machine = load_machine("torus_8x8", {"k": 4, "one_way": True, "acknowledged": True})
    found = predict(machine, "0:3:256")
    assert (found.wire_fs, found.serialisation_fs) == ((2 + 3 + 1 + 2) * 1_000_000, 5_000_000)
    assert found.total_fs == actual_fs(machine, "0:3:256")


def test_a_memory_that_sets_the_pace_is_named_by_its_node() -> None:
    found = predict(load_machine("tiny", {"hbm.channel_gbs": 4}), "host:sip0.cube0.pe1:16KiB:read")
    assert (found.bottleneck, found.bottleneck_gbs) == ("sip0.cube0.hbm_ctrl.pe1", 32)
    assert found.catches_up


@pytest.mark.parametrize("size", ["256", "4KiB", "64KiB"])
@pytest.mark.parametrize(
    "flow",
    [
        "host:sip0.cube1.pe1:{}:write",
        "host:sip0.cube1.pe1:{}:read",
        "sip0.cube0.pe0:sip0.cube1.pe1:{}:read",
        "sip0.cube0.pe0:sip0.cube1.sram:{}:write",
        "sip0.cube0.m_cpu:sip0.cube1.m_cpu:{}:write",
        "sip0.cube0.r0c0:sip0.cube0.r1c2:{}:read",
    ],
)
@pytest.mark.parametrize("fields", [{}, {"noc.gbs": 512, "command.bytes": 32}, {"ucie.gbs": 48, "sram.overhead_ns": 0}])
def test_equals_the_engine(flow: str, size: str, fields: dict[str, object]) -> None:
    machine, text = load_machine("tiny", fields), flow.format(size)
    assert predict(machine, text).total_fs == actual_fs(machine, text)


@pytest.mark.parametrize("seed", range(8))
def test_a_flit_passes_routers_with_credits_as_in_the_engine(seed: int) -> None:
    rng = random.Random(seed)
    fields: dict[str, object] = {"flow_control": "credit", "speculative": rng.random() < 0.5}
    fields |= {"internal_speedup": rng.choice([1, 2]), "packet_flits": rng.choice([1, 3, 8])}
    pipeline = ("routing_ns", "vc_allocation_ns", "switch_allocation_ns", "traversal_ns")
    fields |= {
        f"{port}_port.{name}": rng.choice([0.5, 0, 0.3, 1.7])
        for port in ("noc", "ucie", "io", "memory")
        for name in pipeline
    }
    fields |= {"ns_per_mm": rng.choice([0, 0.01, 0.013, 0.1]), "ucie.overhead_ns": rng.choice([8, 1.21, 0])}
    fields |= {"hbm.channel_gbs": rng.choice([32, 17]), "pcie_ep.store_and_forward": rng.random() < 0.5}
    machine = load_machine("tiny", fields)
    for src in ("host", "sip0.cube0.pe0", "sip0.cube1.pe1", "sip0.cube0.m_cpu"):
        for dst in ("sip0.cube0.pe1", "sip0.cube1.sram"):
            for kind in ("read", "write"):
                text = f"{src}:{dst}:{rng.choice([256, 100])}:{kind}"
                assert predict(machine, text).total_fs == actual_fs(machine, text), (text, fields)


@pytest.mark.parametrize("seed", range(4))
def test_a_flit_passes_a_torus_with_credits_as_in_the_engine(seed: int) -> None:
    rng = random.Random(seed)
    times = {name: rng.choice([0, 0.3, 1, 2]) for name in ("routing_ns", "vc_allocation_ns", "switch_allocation_ns")}
    times |= {name: rng.choice([0.3, 1, 2]) for name in ("traversal_ns", "hop_ns", "injection_ns")}
    fields = times | {
        "speculative": rng.random() < 0.5,
        "link_gbs": rng.choice([256, 100]),
        "acknowledged": seed % 2 == 0,
    }
    machine = load_machine("torus_8x8_credit", fields)
    for dst in (0, 1, 36, 63):
        text = f"0:{dst}:256"
        assert predict(machine, text).total_fs == actual_fs(machine, text), (text, fields)


def test_routers_with_credits_by_hand() -> None:
    """A cycle for the switch of each of 5 routers; links take the flit while it traverses."""
    found = predict(load_machine("mesh_8x8_credit"), "0:4:256")
    assert (found.routers_fs, found.total_fs) == (5_000_000, 17_000_000)


def test_what_stores_and_forwards_is_paid_anew() -> None:
    machine, text = load_machine("sip_2x4x4"), "sip0.cube0.pe0:sip1.cube0.pe0:32KiB"
    assert predict(machine, text).total_fs == actual_fs(machine, text)


def test_less_than_a_flit_pays_for_its_bytes() -> None:
    machine, text = load_machine("mesh_8x8"), "0:1:64"
    assert predict(machine, text).total_fs == actual_fs(machine, text) == 3 * 250_000 + 3_000_000


def test_a_read_that_catches_up_is_never_slower_than_the_formula() -> None:
    machine, text = load_machine("tiny", {"noc.gbs": 16}), "host:sip0.cube0.pe0:4KiB:read"
    found = predict(machine, text)
    assert found.catches_up
    assert found.total_fs - actual_fs(machine, text) == 16_000_000  # the two UCIe ports
