"""Routes from names of parts."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.traffic.flow_routing import Agent, FlowRoute, count_hops, find_flow_routes, find_waypoints
from kernbench.traffic.flows import parse_flows

EXTENT = "it has no SIPs, only the endpoints node[0][0] to node[7][7], by index 0 to 63"


def ways(topology: str, *texts: str) -> list[FlowRoute]:
    found, which = find_flow_routes(load_machine(topology), parse_flows(texts))
    return [FlowRoute(*row) for row in found[which].tolist()]


def test_each_pair_is_looked_at_once() -> None:
    machine = load_machine("mesh_8x8")
    found, which = find_flow_routes(machine, parse_flows(["0:1:1", "1:0:1", "0:1:9@5", "0:1:1:read"]))
    assert len(found) == 3
    assert which[0] == which[2]


def test_hops_of_a_mesh_are_links_between_routers() -> None:
    machine = load_machine("mesh_8x8")
    found, which = find_flow_routes(machine, parse_flows(["node[0][0]:node[3][4]:1", "0:1:1", "63:0:1:read"]))
    assert count_hops(machine, found[:, 3])[which].tolist() == [7, 1, 14]


def test_an_endpoint_reaches_itself_by_its_router() -> None:
    machine = load_machine("mesh_8x8")
    there, back = ways("mesh_8x8", "3:node[0][3]:1", "3:3:1:read")
    names = [machine.station_name[edge] for edge in machine.routing.edges(there.route)]
    assert names == ["node[0][3] -> node[0][3].router", "node[0][3].router -> node[0][3]"]
    assert (back.route, back.request_fs, there.request_fs) == (there.route, 2_000_000, 0)
    assert count_hops(machine, np.array([there.route])).tolist() == [0]


def test_hops_elsewhere_are_all_links() -> None:
    machine = load_machine("tiny")
    found, which = find_flow_routes(machine, parse_flows(["sip0.cube0.pe0:sip0.cube0.pe0:1"]))
    assert count_hops(machine, found[:, 3])[which].tolist() == [2]


def test_a_pe_issues_by_the_channel_of_its_direction() -> None:
    machine = load_machine("tiny")
    place = machine.places.pe(0, 0, 1)
    read, write = ways("tiny", "sip0.cube0.pe1:sip0.cube1.pe0:1:read", "sip0.cube0.pe1:sip0.cube1.pe0:1")
    assert (read.agent, read.issuer, read.hold) == (Agent.PE, place.dma, place.dma_read)
    assert (write.agent, write.issuer, write.hold) == (Agent.PE, place.dma, place.dma_write)


@pytest.mark.parametrize("kind", ["read", "write"])
def test_an_m_cpu_moves_data_over_the_mesh_past_the_insides_of_pes(kind: str) -> None:
    machine = load_machine("tiny")
    (way,) = ways("tiny", f"sip0.cube0.m_cpu:sip0.cube1.pe1:1:{kind}")
    assert (way.agent, way.issuer) == (Agent.CPU, machine.places.m_cpu(0, 0))
    ends = [machine.node_kind[machine.edge_dst[edge]] for edge in machine.routing.edges(way.route)]
    assert ends[-1] == ("m_cpu" if kind == "read" else "hbm_ctrl")
    assert set(ends[:-1]) == {"router", "conn", "ucie"}


def test_the_host_is_that_of_the_other_part() -> None:
    machine = load_machine("sip_2x4x4")
    down, up = ways("sip_2x4x4", "host:sip1.cube2.pe0:1", "sip1.cube0.pe0:host:1")
    assert down.issuer == machine.places.pcie_ep(1)
    assert machine.routing.edges(up.route)[-1] == machine.routing.edges(down.route)[0] ^ 1
    assert ways("sip_2x4x4", "sip1.io0.pcie_ep:sip1.cube2.pe0:1") == [down]


def test_a_part_named_host_is_the_host() -> None:
    machine = load_machine("ascend_tiny")
    (way,) = ways("ascend_tiny", "host:hbm:1")
    assert way.source == machine.node_id["host"]


def test_the_host_is_at_the_nearest_of_several_endpoints() -> None:
    machine = load_machine("sip_2x4x4", {"sip.io_chiplets": 2})
    found, which = find_flow_routes(
        machine, parse_flows(["host:sip1.cube4.pe0:1", "host:sip1.cube7.pe0:1", "host:sip1.io1.io_cpu:1"])
    )
    endpoints = [machine.places.pcie_ep(1, chiplet) for chiplet in (0, 1, 1)]
    assert found[which, FlowRoute._fields.index("issuer")].tolist() == endpoints


@pytest.mark.parametrize(
    ("overrides", "texts", "via"),
    [
        ({}, ["sip0.cube0.pe0:sip3.cube0.pe0:1"], [["switch"]]),
        ({}, ["sip0.cube0.pe0:sip0.cube1.pe0:1"], [[]]),
        (
            {"sips.wiring": "direct"},
            [
                "sip0.cube0.pe0:sip1.cube0.pe0:1",
                "sip0.cube0.pe0:sip2.cube0.pe0:1",
                "sip1.cube0.pe0:sip3.cube0.pe0:1:read",
            ],
            [[], ["sip1"], ["sip0"]],
        ),
    ],
)
def test_waypoints(overrides: dict[str, object], texts: list[str], via: list[list[str]]) -> None:
    machine = load_machine("tiny", {"sips.count": 4, **overrides})
    found, which = find_flow_routes(machine, parse_flows(texts))
    assert [find_waypoints(machine, int(route)) for route in found[which, 3]] == via


def test_a_read_from_what_is_no_memory_waits_for_its_request() -> None:
    """Two hops at 1 ns each, with 1 ns to enter and 1 ns to leave: the request pays the way, not the bytes."""
    (read,) = ways("mesh_8x8", "0:2:1:read")
    machine = load_machine("mesh_8x8")
    assert read.request_fs == 4_000_000
    assert read.issuer == machine.places.find_endpoint("2")


@pytest.mark.parametrize(
    ("topology", "text", "sentence"),
    [
        ("mesh_8x8", "0:64:1", f"the machine has no node 64; {EXTENT}"),
        ("mesh_8x8", "nod[0][0]:1:1", f"got 'nod[0][0]', expected a node like node[1][2] or its index; {EXTENT}"),
        (
            "tiny",
            "sip0.io0.io_cpu:sip0.io0.io_cpu:1",
            "sip0.io0.io_cpu and sip0.io0.io_cpu are one part; a flow needs two",
        ),
        (
            "tiny",
            "sip0.cube0.pe7:host:1",
            "the machine has no sip0.cube0.pe7; it has sip0 to sip0, each with cube0 to cube1, each with pe0 to pe1",
        ),
        (
            "tiny",
            "hots:sip0.cube0.pe0:1",
            "machine tiny has no part 'hots'; did you mean 'host'? "
            "Known: host, sip0.cube0.hbm_ctrl.pe0, sip0.cube0.hbm_ctrl.pe1 and {more} more",
        ),
        ("mesh_8x8", "0:3+99:1", f"the machine has no node 99; {EXTENT}"),
        (
            "mesh_8x8",
            "0:+:1",
            "got '+', where a destination of a multicast has no name; expected names with + in between",
        ),
        ("mesh_8x8", "0:3+3:1", "a multicast from node[0][0] names node[0][3] twice; name each destination once"),
        ("mesh_8x8", "0:3..:1", f"got '', expected a node like node[1][2] or its index; {EXTENT}"),
        ("mesh_8x8", "0:3+4:1:read", "a multicast cannot read; write to 3+4, or read from one part at a time"),
        (
            "tiny",
            "sip0.cube0.pe0:sip0.cube0.pe0..sip0.cube0.pe1:1",
            "got 'sip0.cube0.pe0..sip0.cube0.pe1', where .. stands between two corners of a rectangle of a mesh; "
            "name the parts one by one",
        ),
        (
            "tiny",
            "sip0.cube0.pe0:sip0.cube0.pe1+sip0.cube1.pe0.pe_dma:1",
            "sip0.cube0.pe1+sip0.cube1.pe0.pe_dma names memories and other parts; a multicast needs destinations of one kind",
        ),
        ("tiny", "host:switch:1", "host is one end of a flow, so the other must be in a SIP, and 'switch' is not"),
        ("tiny", "host:host:1", "host is one end of a flow, so the other must be in a SIP, and 'host' is not"),
        (
            "tiny",
            "sip0.cube0.pe0:sip0.io0.io_cpu:1",
            "no route leads from sip0.cube0.pe0.pe_dma to sip0.io0.io_cpu for pe_dma traffic; "
            "check the links of topology tiny",
        ),
    ],
)
def test_what_cannot_be_sent(topology: str, text: str, sentence: str) -> None:
    machine = load_machine(topology)
    with pytest.raises(InputError) as error:
        find_flow_routes(machine, parse_flows([text]))
    more = machine.node_count + 4 + 1 - 3  # the parts, the PEs, the host
    assert str(error.value) == f"--flow {text!r}: {sentence.format(more=more)}"


def test_of_several_bad_flows_the_first_is_named() -> None:
    with pytest.raises(InputError, match=r"^--flow '70:1:1': "):
        find_flow_routes(load_machine("mesh_8x8"), parse_flows(["5:1:1", "70:1:1", "1:71:1"]))
