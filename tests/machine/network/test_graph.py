from __future__ import annotations

import networkx
import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.machine import EdgeKind, Intent, load_machine
from kernbench.machine.intents import FORBIDDEN
from kernbench.machine.network.graph import NO_EDGE, make_matrix


@pytest.fixture(scope="module")
def tiny():
    return load_machine("tiny")


@pytest.mark.parametrize("intent", list(Intent))
def test_the_three_forms_hold_the_same_links(tiny, intent):
    rows, weights, net = tiny.csr(intent), tiny.weights(intent), tiny.to_networkx(intent)
    wanted = {e for e in range(tiny.edge_count) if EdgeKind(tiny.edge_kind[e]) not in FORBIDDEN[intent]}
    assert set(rows.edge.tolist()) == wanted == {data["id"] for *_, data in net.edges(data=True)}
    assert np.count_nonzero(weights < NO_EDGE) == len(wanted)
    for node in range(tiny.node_count):
        for i in range(rows.start[node], rows.start[node + 1]):
            edge = rows.edge[i]
            assert (tiny.edge_src[edge], tiny.edge_dst[edge]) == (node, rows.neighbour[i])
            assert weights[node, rows.neighbour[i]] == rows.weight[i] == tiny.edge_weight[edge]


@pytest.mark.parametrize("intent", list(Intent))
def test_ways_are_as_short_as_networkx_finds_them(tiny, intent):
    net = tiny.to_networkx(intent)
    for source in range(0, tiny.node_count, 5):
        reached = networkx.single_source_dijkstra_path_length(net, tiny.node_name[source])
        tree = tiny.routing.tree(source, intent)
        assert {tiny.node_name[n] for n in np.flatnonzero(tree >= 0)} == set(reached) - {tiny.node_name[source]}
        for name, length in reached.items():
            if intent != Intent.PE_DMA:
                assert tiny.routing.distance(source, tiny.node_id[name], intent) == length


def test_matrices_are_kept_and_refused_for_large_machines(tiny, monkeypatch):
    assert tiny.weights(Intent.ALL) is tiny.weights(Intent.ALL)
    monkeypatch.setattr("kernbench.machine.network.graph.DENSE_NODES", 50)
    sentence = r"^machine tiny has 84 nodes, too many for a dense matrix \(at most 50\); use machine.csr$"
    with pytest.raises(InputError, match=sentence):
        make_matrix(tiny, Intent.ALL)


def test_graphs_for_users_name_everything(tiny):
    net = tiny.to_networkx(Intent.ALL)
    assert net.name == "tiny"
    node = net.nodes["sip0.cube0.r0c0"]
    assert node == {"id": tiny.node_id["sip0.cube0.r0c0"], "kind": "router", "position_mm": (1.5, 5.25)}
    edge = net.edges["sip0.cube0.r0c0", "sip0.cube0.r0c1"]
    assert (edge["gbs"], edge["um"], edge["weight"]) == (256.0, 3000, 3001)
