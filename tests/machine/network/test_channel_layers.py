"""Layers of virtual channels: every way follows the order of links within a layer, on any machine."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine import load_machine
from kernbench.machine.families.sip.channels import _TRAFFIC
from kernbench.machine.intents import Intent, RouteKind
from kernbench.machine.load import compile_machine
from kernbench.machine.network.channel_layers import layers_of

CREDIT = {"flow_control": "credit"}


def draw_routes(machine, random, count):
    """Routes between random PEs and memories, as programs take them."""
    kinds = np.array(machine.node_kind)
    starts, memories = np.flatnonzero(kinds == "pe_dma"), sorted(machine.terminals)
    for _ in range(count):
        kind = random.choice([RouteKind.WRITE, RouteKind.READ, RouteKind.MESSAGE])
        ends = starts if kind == RouteKind.MESSAGE else memories
        yield machine.routing.route(int(random.choice(starts)), int(random.choice(ends)), Intent.PE_DMA, kind)


def channels_of(machine, route):
    """The (link, virtual channel) pairs that packets of a route may take, link by link."""
    tables = machine.routing.tables()
    control = machine.flow_control
    for step in range(tables.start[route], tables.start[route + 1]):
        link = int(tables.station[step])
        if link < machine.edge_count:
            count = control.ports[machine.port_class[machine.edge_dst[link]]].virtual_channels
            yield [(link, index) for index in control.channels_of(int(tables.channels[step]), count)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("topology", "fields"),
    [
        ("sip_2x4x4_credit", {}),
        ("tiny", {**CREDIT, "sips.count": 3}),
        ("tiny", {**CREDIT, "sips.count": 4, "sips.wiring": "direct", "sips.topology": "torus_2d"}),
        ("tiny", {**CREDIT, "sips.count": 5, "sips.wiring": "direct", "sip.cubes.h": 2}),
    ],
)
def test_channels_of_random_routes_form_no_cycle(topology, fields):
    ports = {f"{name}_port.virtual_channels": 16 for name in ("noc", "ucie", "io", "memory")} if fields else {}
    machine = load_machine(topology, {**fields, **ports})
    graph = nx.DiGraph()
    for route in {*draw_routes(machine, np.random.default_rng(), 600)}:
        for before, after in pairwise(channels_of(machine, route)):
            graph.add_edges_from((a, b) for a in before for b in after)
    assert nx.is_directed_acyclic_graph(graph)


def test_a_way_goes_on_to_the_next_layer_where_the_order_falls():
    rank = np.array([5, 0, 3, 0, 4, 0, 9, 0])  # of links 0, 2, 4 and 6; the others are their other directions
    way, nowhere = np.array([0, 2, 4, 6]), np.zeros(4, bool)
    assert layers_of(rank, way, nowhere, is_reply=False).tolist() == [0, 1, 1, 1]
    assert layers_of(rank, way[::-1] ^ 1, nowhere, is_reply=True).tolist() == [0, 0, 0, 1]
    assert layers_of(rank, way[[1, 0, 3, 2]], nowhere, is_reply=False).tolist() == [0, 0, 0, 1]


def test_a_node_that_forwards_whole_messages_begins_a_way_anew():
    rank = np.array([5, 0, 3, 0, 2, 0, 1, 0])
    whole = np.array([False, False, True, False])
    assert layers_of(rank, np.array([0, 2, 4, 6]), whole, is_reply=False).tolist() == [0, 1, 0, 1]


def test_the_default_machine_needs_three_layers_and_tiny_one():
    assert load_machine("sip_2x4x4_credit").flow_control.layers == 3
    assert load_machine("tiny", CREDIT).flow_control.layers == 1


def test_the_order_is_the_same_in_every_compilation():
    path, fields = library.find("topology", "tiny"), {**CREDIT, "sips.count": 3}
    orders = [compile_machine(path, fields).channel_order for _ in range(2)]
    assert (orders[0] == orders[1]).all()


def test_sips_that_a_switch_joins_are_alike():
    machine = load_machine("tiny", {**CREDIT, "sips.count": 3})
    rank = dict(zip(machine.station_name, machine.channel_order.tolist(), strict=False))
    inside = [name for name in rank if name.startswith("sip0.") and "switch" not in name]
    assert all(rank[name] == rank[name.replace("sip0.", "sip2.")] for name in inside)


@pytest.mark.slow
def test_too_few_channels_name_a_cycle_and_what_would_do():
    with pytest.raises(InputError) as caught:
        load_machine("sip_2x4x4_credit", {"ucie_port.virtual_channels": 4})
    said = str(caught.value)
    assert said.startswith("packets can wait for each other for ever, since each of these channels waits for the next")
    assert said.endswith("give each class of ports 6 virtual_channels or more, half of them for replies")


def test_replies_need_a_channel_of_their_own():
    says = "^requests and replies take virtual channels of their own, but a class of ports has 1; give each class of ports 2 "
    with pytest.raises(InputError, match=says):
        load_machine("tiny", {**CREDIT, "io_port.virtual_channels": 1})


@pytest.mark.parametrize(
    "fields",
    [
        {
            "sips.count": 4,
            "sips.w": 4,
            "sips.h": 1,
            "sips.wiring": "direct",
            "sips.topology": "ring_1d",
            "pcie_ep.store_and_forward": False,
        },
        {"sips.count": 3, "sips.wiring": "direct", "sip.cubes.h": 2, "pcie_ep.store_and_forward": True},
        {"sip.cubes.w": 3},
    ],
)
def test_as_many_layers_are_counted_as_the_longest_way_takes(fields):
    ports = {f"{name}_port.virtual_channels": 16 for name in ("noc", "ucie", "io", "memory")}
    machine = load_machine("tiny", {**CREDIT, **fields, **ports})
    kinds = np.array(machine.node_kind)
    most = 0
    for intent, sources, ends in _TRAFFIC:
        for source in np.flatnonzero(np.isin(kinds, sources)):
            last = machine.routing.tree(int(source), intent)
            for end in np.flatnonzero(np.isin(kinds, ends) & (last >= 0)):
                way = np.array(machine.routing.edges_between(int(source), int(end), intent), np.int64)
                whole = machine.node_store_and_forward[machine.edge_src[way]]
                most = max(most, int(layers_of(machine.channel_order, way, whole, is_reply=False).max(initial=0)) + 1)
    assert machine.flow_control.layers == most
