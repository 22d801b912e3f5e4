"""Routes to many: numbers, keys, what is refused, and on machines that differ in times alone."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from kernbench.errors import InputError, UnreachableError
from kernbench.machine import Intent, RouteKind, load_machine
from kernbench.machine.machine import Machine
from tests.engine.random_traffic import forget_routes


@pytest.fixture(scope="module")
def loaded() -> Machine:
    return load_machine("mesh_8x8", {"k": 4})


@pytest.fixture
def mesh(loaded: Machine) -> Machine:
    return forget_routes(loaded)


def multicast(machine: Machine, src: str, *names: str, kind: RouteKind = RouteKind.MESSAGE) -> int:
    nodes = [machine.places.find_endpoint(name) for name in (src, *names)]
    return machine.routing.multicast(nodes[0], nodes[1:], Intent.ALL, kind)


def test_a_set_has_one_route_whatever_the_order(mesh):
    route = multicast(mesh, "0", "5", "7", "2")
    assert multicast(mesh, "0", "7", "2", "5") == route
    assert multicast(mesh, "0", "7", "2") != route
    named = [mesh.node_name[node] for node in mesh.routing.destinations(route)]
    assert named == ["node[0][2]", "node[1][1]", "node[1][3]"]
    assert mesh.routing.key(route)[1] == mesh.routing.destinations(route)
    alone = mesh.routing.route(*mesh.routing.key(multicast(mesh, "0", "3"))[:1], mesh.places.find_endpoint("3"), 0, 2)
    assert mesh.routing.destinations(alone) == (mesh.places.find_endpoint("3"),)


def test_numbers_of_later_routes_and_tables_agree(mesh):
    first = multicast(mesh, "0", "5", "7", "15")
    tables = mesh.routing.tables()
    count = int(tables.branches[first])
    assert count > 3
    assert tables.branches[first + 1 : first + count].tolist() == [0] * (count - 1)
    after = multicast(mesh, "1", "2")
    assert after >= first + count
    tables = mesh.routing.tables()
    assert len(tables.branches) == mesh.routing.route_count == len(tables.start) - 1
    assert (tables.parent[first + 1 : first + count] < np.arange(first + 1, first + count)).all()
    assert mesh.routing.key(after)[0] == mesh.places.find_endpoint("1")


def test_every_link_of_the_tree_is_crossed_once(mesh):
    route = multicast(mesh, "0", *map(str, range(16)))
    edges = mesh.routing.edges(route)
    assert len(set(edges)) == len(edges) == 1 + 15 + 16  # to the router, over a tree of 16 routers, to each endpoint
    paths = [
        mesh.routing.path(mesh.places.find_endpoint("0"), node, Intent.ALL) for node in mesh.routing.destinations(route)
    ]
    pairs = {pair for path in paths for pair in pairwise(path)}
    assert {(int(mesh.edge_src[e]), int(mesh.edge_dst[e])) for e in edges} == pairs


def test_on_a_machine_with_other_times_the_route_is_the_same(loaded):
    mesh = forget_routes(loaded)
    route = multicast(mesh, "0", "5", "15")
    other = mesh.routing.on(mesh)
    assert other.destinations(route) == mesh.routing.destinations(route)
    assert all((a == b).all() for a, b in zip(other.tables(), mesh.routing.tables(), strict=True))


def test_what_stands_for_its_latency_goes_over_its_links(mesh):
    route = multicast(mesh, "0", "5", "15", "12")
    path = int(mesh.routing.tables().path[route])
    assert set(mesh.routing.edges(path)) < set(mesh.routing.edges(route))
    assert mesh.routing.key(path)[1] == mesh.places.find_endpoint("15")


@pytest.mark.parametrize(
    ("names", "sentence"),
    [
        ([], "a multicast from node[0][0] names no destination; name at least one"),
        (["3", "5", "3"], "a multicast from node[0][0] names node[0][3] twice; name each destination once"),
    ],
)
def test_what_is_refused(mesh, names, sentence):
    with pytest.raises(InputError) as error:
        multicast(mesh, "0", *names)
    assert str(error.value) == sentence
    assert mesh.routing.route_count == 0


def test_a_read_is_refused(mesh):
    with pytest.raises(InputError) as error:
        multicast(mesh, "0", "3", kind=RouteKind.READ)
    assert str(error.value) == "a multicast from node[0][0] cannot read; let it write or send a message"


def test_only_memories_are_written(mesh):
    with pytest.raises(UnreachableError) as error:
        multicast(mesh, "0", "3", kind=RouteKind.WRITE)
    assert str(error.value).startswith(
        "node[0][3] is no memory, so nothing can be read or written there from node[0][0]"
    )


def test_a_limit_of_packets_is_refused_with_credits():
    machine = load_machine("mesh_8x8_credit", {"packet_flits": 4, "outstanding_packets": 3})
    with pytest.raises(InputError) as error:
        multicast(machine, "0", "3", "9")
    assert str(error.value) == (
        "a multicast from node[0][0] has packets with several ends, and outstanding_packets limits those with one; leave it "
        "out, or send to one destination at a time"
    )
    assert machine.routing.route_count == 0


@pytest.mark.parametrize(("packet_flits", "names", "flits"), [(16, "3 9", 8), (4, "3 9", 4), (16, "3", 16)])
def test_packets_are_cut_to_the_buffers_where_they_are_copied(packet_flits, names, flits):
    machine = load_machine("mesh_8x8_credit", {"packet_flits": packet_flits, "buffer_flits": 8})
    route = multicast(machine, "0", *names.split())
    tables = machine.routing.tables()
    branches = slice(route, route + tables.branches[route])
    assert set(tables.packet_flits[branches].tolist()) == {flits}
    other = machine.routing.route(
        machine.node_id["node[0][0]"], machine.node_id["node[0][3]"], Intent.ALL, RouteKind.MESSAGE
    )
    assert machine.routing.tables().packet_flits[other] == packet_flits


@pytest.mark.slow
def test_packets_are_cut_to_the_shallowest_port_of_a_fork():
    """Of a write to two slices of one cube the NoC alone forks; one to another cube passes UCIe ports, which do not."""
    machine = load_machine("sip_2x4x4_credit")
    places, control = machine.places, machine.flow_control
    ends = [places.hbm(0, 0, 1), places.hbm(0, 3, 0)]
    route = machine.routing.multicast(places.pe(0, 0, 0).dma, ends, Intent.PE_DMA, RouteKind.WRITE)
    assert control is not None
    assert machine.routing.tables().packet_flits[route] == 4 < control.packet_flits


def test_a_destination_on_the_way_to_others_is_refused_with_credits():
    machine = load_machine("tiny", {"flow_control": "credit", "sips.count": 2})
    places = machine.places
    with pytest.raises(InputError) as error:
        machine.routing.multicast(
            machine.node_id["switch"], [places.pcie_ep(0), places.m_cpu(0, 0)], Intent.ALL, RouteKind.MESSAGE
        )
    assert str(error.value) == (
        "a multicast from switch passes sip0.io0.pcie_ep, which is one of its destinations, on the way to others; with credits "
        "leave it out"
    )


@pytest.mark.parametrize("torus", [False, True])
def test_links_of_a_tree_have_the_virtual_channels_of_paths_to_its_destinations(torus):
    machine = load_machine("torus_8x8_credit" if torus else "mesh_8x8_credit", {"k": 5, "packet_flits": 8})
    names = [str(node) for node in range(25) if node != 12]
    multicast(machine, "12", *names)
    tables, alone = machine.routing.tables(), {}
    kinds = dict(zip(tables.station.tolist(), tables.channels.tolist(), strict=True))
    for name in names:
        route = machine.routing.route(
            *(machine.places.find_endpoint(end) for end in ("12", name)), Intent.ALL, RouteKind.MESSAGE
        )
        tables = machine.routing.tables()
        steps = slice(tables.start[route], tables.start[route + 1])
        alone.update(zip(tables.station[steps].tolist(), tables.channels[steps].tolist(), strict=True))
    assert kinds == alone


def test_the_source_itself_is_refused_where_nothing_leads_back():
    machine = load_machine("tiny")
    dma = machine.places.pe(0, 0, 0).dma
    with pytest.raises(InputError) as error:
        machine.routing.multicast(dma, [dma], Intent.PE_DMA, RouteKind.MESSAGE)
    name = machine.node_name[dma]
    assert str(error.value) == f"a multicast from {name} names its own source as a destination; leave it out"
