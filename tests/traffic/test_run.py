"""Runs of flows: known times, closed forms, order, and both modes to the tick."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.traffic import lower
from kernbench.traffic.flow_routing import find_flow_routes
from kernbench.traffic.flows import Flows, parse_flows
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.lower import Traffic
from kernbench.traffic.patterns import PATTERNS
from kernbench.traffic.run import run_flows
from kernbench.traffic.zero_load_latency import flit_time_fs, zero_load_fs
from tests.engine.difference import find_difference

FIGURES = {"link_gbs": 100, "hop_ns": 1.7, "injection_ns": 0.3, "ejection_ns": 2.1, "flit_bytes": 96, "k": 6}


def end_ns(topology: str, *texts: str, mode: str = "hybrid", **overrides: object) -> list[float]:
    return run_flows(load_machine(topology, overrides), parse_flows(texts), mode).table()["end_ns"].to_list()


def random_flows(nodes: int, count: int, seed: int, span_fs: int, largest: int) -> Flows:
    rng = np.random.default_rng(seed)
    src = rng.integers(0, nodes, count)
    return Flows(
        names=tuple(str(i) for i in range(nodes)),
        src=src,
        dst=rng.integers(0, nodes, count),
        nbytes=rng.integers(1, largest, count),
        start_fs=rng.integers(0, span_fs, count) // 1_000_000 * 1_000_000,
        read=rng.random(count) < 0.3,
        where=str,
    )


@pytest.mark.parametrize("mode", ["hybrid", "flit"])
@pytest.mark.parametrize(
    ("flow", "ns"),
    [
        ("sip0.cube0.pe0:sip0.cube0.pe0:16KiB", 77),
        ("sip0.cube0.pe0:sip0.cube0.pe0:16KiB:read", 77),
        ("sip0.cube0.pe0:sip1.cube0.pe0:16KiB", 409),
        ("host:sip0.cube0.pe0:64KiB", 545),
        ("host:sip0.cube0.pe0:1MiB", 8230),
    ],
)
def test_published_latencies_of_the_default_machine(flow: str, ns: float, mode: str) -> None:
    assert end_ns("sip_2x4x4", flow, mode=mode) == [pytest.approx(ns, rel=0.03)]


def test_a_pe_pays_cpu_scheduler_and_translation() -> None:
    """Until the first byte 2 + 1 + 0.5 ns; one flit then takes 2 links, the commit and the wires: 10.02 ns."""
    assert end_ns("tiny", "sip0.cube0.pe0:sip0.cube0.pe0:256") == [13.52]


@pytest.mark.parametrize("kind", ["read", "write"])
def test_each_pe_of_a_cube_has_the_whole_bandwidth_of_its_slice_whatever_the_others_do(kind: str) -> None:
    flows = [f"sip0.cube3.pe{pe}:sip0.cube3.pe{pe}:1MiB:{kind}" for pe in range(8)]
    (alone,) = end_ns("sip_2x4x4", flows[0])
    assert 0.99 * 256 < (1 << 20) / alone < 256  # GB/s
    assert end_ns("sip_2x4x4", *flows) == [alone] * 8


def test_flows_to_one_slice_share_its_channels() -> None:
    """Flits take turns as they come, so each of two flows is nearly as late as the other."""
    whole_ns = 65536 / 256
    for kind in ("read", "write"):
        flows = [f"sip0.cube0.pe{pe}:sip0.cube0.pe0:64KiB:{kind}" for pe in (0, 1)]
        (alone,) = end_ns("tiny", flows[0])
        first, last = sorted(end_ns("tiny", *flows))
        assert whole_ns < alone < 1.1 * whole_ns
        assert last > 2 * whole_ns
        assert first > 1.8 * alone


@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_a_small_read_does_not_wait_for_the_whole_of_a_large_one(mode: str) -> None:
    """Of 256 KiB it waits at each channel for the flit that is served and at most one more."""
    small = "sip0.cube0.pe1:sip0.cube0.pe0:1000:read"
    (alone,) = end_ns("sip_2x4x4", small, mode=mode)
    large, end = end_ns("sip_2x4x4", "sip0.cube0.pe0:sip0.cube0.pe0:256KiB:read", f"{small}@100", mode=mode)
    assert large > 1024
    assert 100 + alone < end <= 100 + alone + 2 * 8


@pytest.mark.parametrize(("kind", "ns"), [("read", 535), ("write", 558)])
def test_eight_pes_at_one_slice(kind: str, ns: float) -> None:
    """Its channels serve 256 GB/s, so 128 KiB take 512 ns. Flits of writes meet on the links as well."""
    flows = [f"sip0.cube0.pe{pe}:sip0.cube0.pe0:16KiB:{kind}" for pe in range(8)]
    assert max(end_ns("sip_2x4x4", *flows)) == pytest.approx(ns, abs=0.5)


def test_bandwidth_is_that_of_a_wire_and_not_of_the_node_it_leaves() -> None:
    """A flow through router 1 meets others there: over its link they take turns, over another they do not."""
    east = "0:2:4KiB"
    (one,) = end_ns("mesh_8x8", east)
    assert end_ns("mesh_8x8", east, "1:3:4KiB")[0] > one
    assert end_ns("mesh_8x8", east, "1:9:4KiB", "17:1:4KiB")[0] == one


def test_flows_of_a_pe_queue_on_its_channel_in_file_order() -> None:
    near, far = "sip0.cube0.pe0:sip0.cube0.pe0:4KiB", "sip0.cube0.pe0:sip0.cube1.pe0:4KiB"
    (one,), (other,) = end_ns("tiny", near), end_ns("tiny", far)
    assert end_ns("tiny", near, far) == [one, pytest.approx(one + other)]
    assert end_ns("tiny", far, near) == [other, pytest.approx(one + other)]
    assert end_ns("tiny", near, far + ":read")[1] < one + other  # the other channel
    assert end_ns("tiny", near + "@1us", far) == [1000 + one, other]


def test_the_host_acts_for_all_flows_at_once() -> None:
    """The endpoint's overhead comes before each transfer; it has no queue, but the transfers share the link."""
    machine = load_machine("tiny")
    act = machine.figures["pcie_ep.overhead"] / 1e6
    near, far = "host:sip0.cube0.pe0:256", "host:sip0.cube0.pe1:256"
    (one,), (other,), both = end_ns("tiny", near), end_ns("tiny", far), end_ns("tiny", near, far)
    assert min(one, other) > act
    assert both[0] == one
    assert other < both[1] < other + act


def test_flows_of_a_node_that_start_together_leave_in_file_order() -> None:
    assert end_ns("mesh_8x8", "0:1:1KiB", "0:8:256") == [9, 10]
    assert end_ns("mesh_8x8", "0:8:256", "0:1:1KiB") == [6, 10]
    assert end_ns("mesh_8x8", "0:1:1KiB@1", "0:8:256") == [10, 6]


@pytest.mark.parametrize("torus", [False, True])
@pytest.mark.parametrize(("flits", "networks"), [(1, 1), (2, 1), (13, 1), (5, 2)])
def test_alone_in_a_mesh_latency_is_linear_in_hops_and_flits(torus: bool, flits: int, networks: int) -> None:
    machine = load_machine("mesh_8x8", {**FIGURES, "torus": torus, "networks": networks})
    for dst in (0, 1, 5, 7, 20, 35):
        result = run_flows(machine, parse_flows([f"0:{dst}:{flits * 96}"]))
        y, x = divmod(dst, 6)
        hops = min(y, 6 - y) + min(x, 6 - x) if torus else y + x
        service = 960_000
        want = 2 * service + 300_000 + 2_100_000 + hops * (service + 1_700_000) + (flits - 1) * service
        assert (result.hops[0], result.end_fs[0]) == (hops, want)
        assert zero_load_fs(machine, np.array([0]), np.array([dst]), flits).tolist() == [want]


@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_around_one_way_rings(mode: str) -> None:
    """A hop is 2 ns, an end 2 ns. From 3 to 0 it is one hop, but back there are three, which a read's bytes take."""
    ring = {"k": 4, "one_way": True, "mode": mode}
    assert end_ns("torus_8x8", "0:3:256", **ring) == [4 + 3 * 2]
    assert end_ns("torus_8x8", "3:0:256", **ring) == [4 + 2]
    assert end_ns("torus_8x8", "15:0:1KiB", **ring) == [4 + 2 * 2 + 3]
    assert end_ns("torus_8x8", "3:0:256:read", **ring) == [(1 + 1 + 1) + 4 + 3 * 2]
    assert end_ns("torus_8x8", "0:3:256:read", **ring) == [(1 + 3 + 1) + 4 + 2]


@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_an_acknowledgement_comes_back_at_the_speed_of_wires(mode: str) -> None:
    """A flit over three hops takes 4 + 6 ns; an acknowledgement pays 1 ns a hop and 2 ns at the ends, on its own way."""
    fields = {"acknowledged": True, "mode": mode}
    assert end_ns("mesh_8x8", "0:3:256", **fields) == [10 + 3 + 2]
    assert end_ns("mesh_8x8", "0:0:1KiB", **fields) == [7 + 2]
    assert end_ns("torus_8x8", "0:3:256", k=4, one_way=True, **fields) == [10 + 1 + 2]
    assert end_ns("torus_8x8", "3:0:256", k=4, one_way=True, **fields) == [6 + 3 + 2]
    assert end_ns("mesh_8x8", "0:1:256:read", **fields) == [3 + 6]  # bytes that come are not acknowledged


def test_when_bytes_arrive_that_are_acknowledged() -> None:
    for acknowledged, end in ((False, 10), (True, 15)):
        machine = load_machine("mesh_8x8", {"acknowledged": acknowledged})
        result = run_flows(machine, parse_flows(["0:3:256@100", "0:3:256:read@200"]))
        assert result.latency_fs.tolist() == [end * 1_000_000, 15_000_000]
        assert result.arrival_fs.tolist() == [110_000_000, 215_000_000]


def test_two_networks_side_by_side() -> None:
    """From node 0 the second network leads to odd columns. The ways to 2 and 4 share links, those to 1 and 2 do not."""
    assert end_ns("mesh_8x8", "0:2:1KiB", "0:1:1KiB", "0:4:1KiB", networks=1) == [11, 13, 23]
    assert end_ns("mesh_8x8", "0:2:1KiB", "0:1:1KiB", "0:4:1KiB", networks=2) == [11, 9, 19]
    assert end_ns("mesh_8x8", "1:0:1KiB", "8:0:1KiB", "9:0:1KiB", networks=2) == [12, 13, 11]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_each_pattern_takes_both_networks(pattern: str) -> None:
    machine = load_machine("torus_8x8", {"networks": 2})
    found, which = find_flow_routes(machine, InjectionProcess(pattern, window=500).packets(machine, 0.2))
    first_links = [machine.routing.edges(route)[0] for route in found[:, 3].tolist()]
    second = np.array([machine.station_name[link].endswith(".router2") for link in first_links])
    assert 0.4 < second[which].mean() < 0.6


def test_an_endpoint_that_sends_to_itself() -> None:
    """Two links of 4 flits of 1 ns each, 1 ns along either; a read's request pays the two nanoseconds first."""
    assert end_ns("mesh_8x8", "0:0:1KiB") == end_ns("torus_8x8", "9:9:1KiB") == [7]
    assert end_ns("mesh_8x8", "0:0:1KiB:read") == [9]
    assert end_ns("mesh_8x8", "0:0:1KiB", "0:1:256") == [7, 10]
    assert end_ns("mesh_8x8", "0:0:1KiB", "1:0:256") == [8, 7]  # its third flit and node 1's come at 4 ns
    assert end_ns("mesh_8x8", "0:0:1KiB", k=1) == [7]


def test_the_slowest_link_sets_the_pace() -> None:
    machine = load_machine("mesh_8x8", {**FIGURES, "endpoint_gbs": 25})
    result = run_flows(machine, parse_flows(["0:9:960"]))
    assert flit_time_fs(machine) == 3_840_000
    assert result.end_fs.tolist() == zero_load_fs(machine, np.array([0]), np.array([9]), 10).tolist()


@pytest.mark.parametrize(
    ("topology", "overrides"),
    [
        ("mesh_8x8", {}),
        ("torus_8x8", {}),
        ("mesh_8x8", FIGURES),
        ("torus_8x8", {**FIGURES, "one_way": True}),
        ("torus_8x8", {**FIGURES, "networks": 2}),
        ("torus_8x8", {**FIGURES, "one_way": True, "networks": 2, "acknowledged": True}),
        ("mesh_8x8", {**FIGURES, "issue_ns": 25}),
        ("torus_8x8", {**FIGURES, "acknowledged": True, "outstanding": 1}),
        ("torus_8x8", {**FIGURES, "one_way": True, "outstanding": 3, "issue_ns": 7}),
    ],
)
def test_both_modes_agree_to_the_tick(topology: str, overrides: dict[str, object]) -> None:
    machine = load_machine(topology, overrides)
    flows = random_flows(machine.places.w * machine.places.h, 500, 1, 500_000_000, 3000)  # type: ignore[attr-defined]
    assert find_difference(Traffic(machine, flows).program) is None
    flit, hybrid = (run_flows(machine, flows, mode) for mode in ("flit", "hybrid"))
    assert flit.end_fs.tolist() == hybrid.end_fs.tolist()
    assert (flit.makespan_ns, flit.flit_hops) == (hybrid.makespan_ns, hybrid.flit_hops)


def test_both_modes_agree_where_pes_and_hosts_send() -> None:
    pes = [f"sip0.cube{cube}.pe{pe}" for cube in range(2) for pe in range(2)]
    texts = [f"{a}:{b}:{300 * i + 1}{':read' * (i % 2)}@{5 * i}" for i, a in enumerate(["host", *pes]) for b in pes]
    machine, flows = load_machine("tiny"), parse_flows(texts)
    flit, hybrid = (run_flows(machine, flows, mode) for mode in ("flit", "hybrid"))
    assert flit.end_fs.tolist() == hybrid.end_fs.tolist()


def count_rows(traffic: Traffic) -> int:
    """The rows of a program that has not been run."""
    return sum(thread.pending_rows for thread in traffic.program.threads)


@pytest.mark.parametrize("topology", ["mesh_8x8", "mesh_8x8_credit"])
def test_how_far_ahead_flows_are_issued_does_not_matter(monkeypatch: pytest.MonkeyPatch, topology: str) -> None:
    machine, flows = load_machine(topology), random_flows(64, 400, 2, 300_000_000, 2000)
    at_once, rows = run_flows(machine, flows), count_rows(Traffic(machine, flows))
    monkeypatch.setattr(lower, "AHEAD", 7)
    monkeypatch.setattr(lower, "AHEAD_EACH", 1)
    assert count_rows(Traffic(machine, flows)) > rows + 64  # waits for the start of a stretch
    assert run_flows(machine, flows).end_fs.tolist() == at_once.end_fs.tolist()


def test_a_row_a_flow() -> None:
    result = run_flows(load_machine("mesh_8x8"), parse_flows(["node[0][0]:1:2KiB@100", "1:0:1"]))
    assert result.table().to_dicts()[0] == {
        "id": 0,
        "src": "node[0][0]",
        "dst": "1",
        "bytes": 2048,
        "start_ns": 100.0,
        "end_ns": 113.0,
        "latency_ns": 13.0,
        "effective_gbs": 2048 / 13,
        "hops": 1,
    }
    summary = result.to_dict()
    assert summary.pop("wall_s") >= 0
    energy = {name: summary.pop(name) for name in result.energy or {}}
    assert energy["dynamic_j"] == energy["dynamic_aj"] / 10**18 > 0
    assert summary == {"topology": "mesh_8x8", "mode": "hybrid", "makespan_ns": 113.0, "flit_hops": 9 * 3}


def test_a_flow_of_more_flits_than_a_transfer_may_have() -> None:
    with pytest.raises(InputError) as error:
        run_flows(load_machine("mesh_8x8"), parse_flows(["0:1:1", "0:1:1TiB"]))
    assert str(error.value) == (
        "--flow '0:1:1TiB': bytes: got 1099511627776, expected 8589934592 at most, which is 33554432 flits"
    )


MANY = "0:3+12..30+63:4KiB"


@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_a_multicast_alone_comes_to_each_destination_as_a_flow_of_its_own(mode: str) -> None:
    mesh = load_machine("mesh_8x8", FIGURES | {"k": 8})
    result = run_flows(mesh, parse_flows([MANY]), mode)
    assert len(result.arrivals) == 11
    for _, name, fs in result.arrivals:
        assert fs == run_flows(mesh, parse_flows([f"0:{name}:4KiB"]), mode).arrival_fs[0]
    assert result.arrival_fs[0] == max(arrival.arrival_fs for arrival in result.arrivals) == result.end_fs[0]


def test_every_link_of_the_tree_is_crossed_once_by_each_flit() -> None:
    result = run_flows(load_machine("mesh_8x8"), parse_flows([MANY]))
    assert result.hops.tolist() == [7 + 7 + 3 * 3]  # along row 0, down column 7, three down from each of 4, 5 and 6
    assert result.flit_hops == 16 * (int(result.hops[0]) + 1 + 11)


def test_the_end_of_a_multicast_is_the_last_acknowledgement() -> None:
    mesh = load_machine("mesh_8x8", {"acknowledged": True})
    result = run_flows(mesh, parse_flows(["0:1+63:256"]))
    near, far = result.arrivals
    assert near.arrival_fs < far.arrival_fs == result.arrival_fs[0] < result.end_fs[0]


@pytest.mark.parametrize("mode", ["hybrid", "flit"])
def test_a_multicast_turns_a_lone_flow_that_it_crosses_back_to_flits(mode: str) -> None:
    """Both want the link from node 1 to node 2: the flow of 64 flits is under way when the multicast comes."""
    assert end_ns("mesh_8x8", "1:2:16KiB", "0:2+9:16KiB@20", mode=mode) == end_ns(
        "mesh_8x8", "1:2:16KiB", "0:2+9:16KiB@20", mode="flit"
    )
    alone, crossed = end_ns("mesh_8x8", "1:2:16KiB"), end_ns("mesh_8x8", "1:2:16KiB", "0:2+9:16KiB@20")
    assert crossed[0] > alone[0]


def test_limits_of_an_endpoint_hold_for_multicasts() -> None:
    ends = end_ns("mesh_8x8", "0:1+2:1KiB", "0:8+9:1KiB", outstanding=1)
    assert ends[1] > ends[0] + 4


def test_a_pe_writes_to_many_slices() -> None:
    flow = "sip0.cube0.pe0:sip0.cube0.pe1+sip0.cube0.pe2+sip0.cube3.pe0:64KiB"
    assert end_ns("sip_2x4x4", flow) == end_ns("sip_2x4x4", flow, mode="flit")
    single = end_ns("sip_2x4x4", "sip0.cube0.pe0:sip0.cube3.pe0:64KiB")
    assert end_ns("sip_2x4x4", flow) == single
