"""Shortest paths from one node to all, over CSR rows or over a dense matrix, with the same result.

The result does not depend on an order of visits: the distances are unique, and the last edge of the path to a node is the one
with the lowest id among those on a shortest path. Weights are above zero, so these edges form a tree.

What every run needs makes its arrays outside of compiled code (why: `compile.jit`).
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit

FAR = 2**62  # the distance of unreachable nodes, and the weight of a missing edge


def sparse_distances(
    start: np.ndarray, neighbour: np.ndarray, weight: np.ndarray, source: int, target: int
) -> np.ndarray:
    """int64[node] distances over CSR rows: start int64[node + 1], neighbour int64[m], weight int64[m] > 0.

    With a target, only those up to the target's are final; -1 means none.
    """
    distance = np.full(len(start) - 1, FAR, np.int64)
    heap_distance, heap_node = np.empty((2, len(neighbour) + 1), np.int64)
    _search(start, neighbour, weight, source, target, distance, heap_distance, heap_node)
    return distance


@jit
def _search(start, neighbour, weight, source, target, distance, heap_distance, heap_node):
    """Lower `distance`, which is FAR everywhere.

    The last two are a binary heap of (distance, node); a node may be in it once for each edge that reaches it.
    """
    distance[source] = 0
    heap_distance[0], heap_node[0], size = 0, source, 1
    while size > 0:
        near, node = heap_distance[0], heap_node[0]
        size -= 1
        _sift_down(heap_distance, heap_node, size, heap_distance[size], heap_node[size])
        if node == target:
            break
        if near > distance[node]:
            continue
        for i in range(start[node], start[node + 1]):
            to, reached = neighbour[i], near + weight[i]
            if reached < distance[to]:
                distance[to] = reached
                _sift_up(heap_distance, heap_node, size, reached, to)
                size += 1


@inner
def _sift_up(heap_distance, heap_node, at, distance, node):
    while at > 0:
        parent = (at - 1) >> 1
        if heap_distance[parent] <= distance:
            break
        heap_distance[at], heap_node[at] = heap_distance[parent], heap_node[parent]
        at = parent
    heap_distance[at], heap_node[at] = distance, node


@inner
def _sift_down(heap_distance, heap_node, size, distance, node):
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and heap_distance[child + 1] < heap_distance[child]:
            child += 1
        if heap_distance[child] >= distance:
            break
        heap_distance[at], heap_node[at] = heap_distance[child], heap_node[child]
        at = child
    heap_distance[at], heap_node[at] = distance, node


@jit
def dense_distances(weights: np.ndarray, source: int) -> np.ndarray:
    """int64[node] distances over a dense matrix int64[node, node] whose entries without an edge are FAR."""
    nodes = len(weights)
    distance = np.full(nodes, FAR, np.int64)
    settled = np.zeros(nodes, np.bool_)
    distance[source] = 0
    for _ in range(nodes):
        node, near = -1, FAR
        for candidate in range(nodes):
            if not settled[candidate] and distance[candidate] < near:
                node, near = candidate, distance[candidate]
        if node < 0:
            break
        settled[node] = True
        for to in range(nodes):
            if weights[node, to] < FAR and near + weights[node, to] < distance[to]:
                distance[to] = near + weights[node, to]
    return distance


def tree(
    distance: np.ndarray, edge: np.ndarray, edge_src: np.ndarray, edge_dst: np.ndarray, edge_weight: np.ndarray
) -> np.ndarray:
    """int64[node] the last edge of the path to each node, -1 for the source and unreachable nodes.

    `edge` int64[m] are the ids that may be used, ascending; the other arrays are over all edges.
    """
    last = np.full(len(distance), -1, np.int64)
    _note_last(distance, edge, edge_src, edge_dst, edge_weight, last)
    return last


@jit
def _note_last(distance, edge, edge_src, edge_dst, edge_weight, last):
    for e in edge:
        src, dst = edge_src[e], edge_dst[e]
        if last[dst] < 0 and distance[src] < FAR and distance[src] + edge_weight[e] == distance[dst]:
            last[dst] = e


@jit
def count_ways(
    last: np.ndarray, edge_src: np.ndarray, source: int, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How the ways along a tree from its source to some ends, bool[node], share it.

    Returns int64[n] the nodes that the tree reaches, the nearest by number of links first and those equally near by their ids;
    int64[node] how many links each is away, -1 for none; and int64[node] how many ways lead to each or through it.
    """
    depth, ways = np.full(len(last), -1, np.int64), np.zeros(len(last), np.int64)
    depth[source] = 0
    for node in range(len(last)):
        links, at = 0, node
        while last[at] >= 0 and depth[at] < 0:
            links, at = links + 1, edge_src[last[at]]
        links, at = depth[at] + links, node
        while depth[at] < 0 and last[at] >= 0:
            depth[at], links, at = links, links - 1, edge_src[last[at]]
    nodes = np.flatnonzero(last >= 0)
    nodes = nodes[np.argsort(depth[nodes], kind="mergesort")]
    ways[nodes] = ends[nodes]
    for node in nodes[::-1]:
        ways[edge_src[last[node]]] += ways[node]
    return nodes, depth, ways


def walk(last: np.ndarray, edge_src: np.ndarray, source: int, target: int) -> np.ndarray:
    """int64[hop] the edges of the path from source to target along a tree, in order.

    If the target is not in the tree, the path is just -1.
    """
    way = np.empty(len(last), np.int64)
    first = _walk(last, edge_src, source, target, way)
    return way[first:].copy() if first >= 0 else np.full(1, -1, np.int64)


@jit
def _walk(last, edge_src, source, target, way):
    """Write the path to the end of `way`. Returns where it begins, else -1."""
    first, node = len(way), target
    while node != source:
        if last[node] < 0:
            return -1
        first -= 1
        way[first] = last[node]
        node = edge_src[last[node]]
    return first


@jit
def trace(
    distance: np.ndarray,
    start: np.ndarray,
    neighbour: np.ndarray,
    edge: np.ndarray,
    edge_weight: np.ndarray,
    source: int,
    target: int,
) -> np.ndarray:
    """int64[hop] the edges of the path from source to target, in order, from distances without a tree.

    The rows are of a graph whose links have two directions with the ids 2 i and 2 i + 1. If the target cannot be reached,
    the way is just -1.
    """
    if distance[target] == FAR:
        return np.full(1, -1, np.int64)
    way, hops, node = np.empty(16, np.int64), 0, target
    while node != source:
        last, before = -1, -1
        for i in range(start[node], start[node + 1]):
            e = edge[i] ^ 1
            if distance[neighbour[i]] + edge_weight[e] == distance[node] and (last < 0 or e < last):
                last, before = e, neighbour[i]
        if hops == len(way):
            way = np.concatenate((way, np.empty(hops, np.int64)))
        way[hops] = last
        hops += 1
        node = before
    return way[:hops][::-1].copy()
