"""The same distances and trees from rows, from a matrix, and from networkx, on random graphs full of ties."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.routing import dijkstra

NODES = 7
edges = st.lists(
    st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1), st.integers(1, 3)),
    max_size=25,
    unique_by=lambda edge: edge[:2],
)


def _edges(table):
    """Sources, destinations and weights, of the types that a machine has."""
    src, dst, weight = np.array(table, np.int64).reshape(-1, 3).T
    return src.astype(np.int32), dst.astype(np.int32), weight.copy()


def _rows(src, dst, weight):
    order = np.argsort(src, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(src, minlength=NODES))]).astype(np.int64)
    return start, dst[order].astype(np.int64), weight[order]


@given(edges, st.integers(0, NODES - 1))
def test_all_forms_agree(table, source):
    src, dst, weight = _edges(table)
    matrix = np.full((NODES, NODES), dijkstra.FAR, np.int64)
    matrix[src, dst] = weight
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_weighted_edges_from(table)

    distance = dijkstra.sparse_distances(*_rows(src, dst, weight), source, -1)
    assert np.array_equal(distance, dijkstra.dense_distances(matrix, source))
    reached = networkx.single_source_dijkstra_path_length(graph, source)
    assert distance.tolist() == [reached.get(node, dijkstra.FAR) for node in range(NODES)]

    last = dijkstra.tree(distance, np.arange(len(src)), src, dst, weight)
    for node in range(NODES):
        tight = [
            e for e in range(len(src)) if dst[e] == node and reached.get(src[e], 99) + weight[e] == reached.get(node)
        ]
        assert last[node] == (min(tight) if tight else -1)


def test_only_the_edges_named_are_used():
    src, dst, weight = _edges([(0, 1, 1), (0, 1, 1), (1, 2, 1)])
    distance = np.array([0, 1, dijkstra.FAR] + [dijkstra.FAR] * (NODES - 3), np.int64)
    assert dijkstra.tree(distance, np.array([1]), src, dst, weight)[1] == 1


@pytest.mark.parametrize("size", [1, 2])
def test_the_smallest_graphs(size):
    start = np.zeros(size + 1, np.int64)
    nothing = np.zeros(0, np.int64)
    assert dijkstra.sparse_distances(start, nothing, nothing, 0, -1).tolist() == [0] + [dijkstra.FAR] * (size - 1)


def test_a_walk_follows_the_tree():
    src = np.array([0, 1, 2], np.int32)
    last = np.array([-1, 0, 1, -1], np.int64)  # 0 -> 1 -> 2, and 3 apart
    assert dijkstra.walk(last, src, 0, 2).tolist() == [0, 1]
    assert dijkstra.walk(last, src, 0, 0).tolist() == []
    assert dijkstra.walk(last, src, 0, 3).tolist() == [-1]


@given(edges, st.integers(0, NODES - 1), st.lists(st.booleans(), min_size=NODES, max_size=NODES))
def test_ways_to_ends_are_counted_at_all_nodes_that_they_pass(table, source, ends):
    src, dst, weight = _edges(table)
    start, neighbour, weights = _rows(src, dst, weight)
    distance = dijkstra.sparse_distances(start, neighbour, weights, source, -1)
    last = dijkstra.tree(distance, np.arange(len(src)), src, dst, weight)
    ways = {node: dijkstra.walk(last, src, source, node) for node in range(NODES) if last[node] >= 0}
    nodes, depth, counted = dijkstra.count_ways(last, src, source, np.array(ends))
    assert nodes.tolist() == sorted(ways, key=lambda node: (len(ways[node]), node))
    away = {source: 0} | {node: len(way) for node, way in ways.items()}
    assert depth.tolist() == [away.get(node, -1) for node in range(NODES)]
    passed = [node for end, way in ways.items() if ends[end] for node in (source, *dst[way].tolist())]
    assert counted.tolist() == [passed.count(node) for node in range(NODES)]
