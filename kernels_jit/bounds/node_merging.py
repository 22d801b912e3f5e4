"""Merge equivalent nodes of the task graph: 256 PEs with identical work become one node.

Nodes are equivalent if their times are equal whatever the times that vary. Graphs are those that `extract_subgraph` returns:
nodes are numbered in topological order.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit
from kernels_jit.layout.codes import NONE


@jit
def extract_subgraph(
    order: np.ndarray,
    before_start: np.ndarray,
    before: np.ndarray,
    gain: np.ndarray,
    starts: np.ndarray,
    targets: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The subgraph of all paths from some starts to some targets, both included.

    Arguments: int64[node] each after all before it, int64[node + 1] offsets into int64[edge] nodes before and gains, int64[]
    nodes twice. Answers int64[] the nodes of the part; int64[node of it + 1] offsets into int64[] nodes before, by their
    places in the part, and gains.
    """
    needed, place = np.zeros(order.size, np.bool_), np.full(order.size, NONE)
    needed[targets] = True
    place[starts] = 0
    first = 0
    while first < order.size and place[order[first]] == NONE:
        first += 1
    for at in range(order.size - 1, first - 1, -1):
        node = order[at]
        if needed[node]:
            for edge in range(before_start[node], before_start[node + 1]):
                needed[before[edge]] = True
    nodes, count, edges = np.empty(order.size - first, np.int64), 0, 0
    for node in order[first:]:
        if not needed[node]:
            place[node] = NONE
            continue
        reached = place[node] != NONE
        for edge in range(before_start[node], before_start[node + 1]):
            if place[before[edge]] != NONE:
                reached = True
                edges += 1
        if reached:
            place[node], nodes[count] = count, node
            count += 1
    start, near, far = np.zeros(count + 1, np.int64), np.empty(edges, np.int64), np.empty(edges, np.int64)
    edges = 0
    for at in range(count):
        node = nodes[at]
        for edge in range(before_start[node], before_start[node + 1]):
            if place[before[edge]] != NONE:
                near[edges], far[edges] = place[before[edge]], gain[edge]
                edges += 1
        start[at + 1] = edges
    return nodes[:count].copy(), start, near, far


@jit
def find_gates(start: np.ndarray, before: np.ndarray, gate: np.ndarray) -> np.ndarray:
    """int64[node] the first of the gates that each node leads to, else NONE.

    `gate`: int64[node] which gate a node is, in the order in which they come, or NONE.
    """
    found = gate.copy()
    for node in range(gate.size - 1, -1, -1):
        if found[node] != NONE:
            for edge in range(start[node], start[node + 1]):
                one = before[edge]
                if found[one] == NONE or found[node] < found[one]:
                    found[one] = found[node]
    return found


@jit
def reverse_graph(
    start: np.ndarray, before: np.ndarray, gain: np.ndarray, gate: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The reversed graph from gates: its last node is the first. Edges to a further gate are left out."""
    count = gate.size
    turned = np.zeros(count + 1, np.int64)
    for node in range(count):
        for edge in range(start[node], start[node + 1]):
            if gate[before[edge]] == gate[node]:
                turned[count - before[edge]] += 1
    turned = np.cumsum(turned)
    free = turned[:-1].copy()
    near, far = np.empty(turned[count], np.int64), np.empty(turned[count], np.int64)
    for node in range(count):
        for edge in range(start[node], start[node + 1]):
            if gate[before[edge]] == gate[node]:
                at = count - 1 - before[edge]
                near[free[at]], far[free[at]] = count - 1 - node, gain[edge]
                free[at] += 1
    return turned, near, far


@jit
def merge_equivalent(
    before_start: np.ndarray, before: np.ndarray, gain: np.ndarray, work: np.ndarray, mark: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Classes of equivalent nodes: the same work, the same mark, and predecessors of the same classes with the same edges.

    An edge implied by a path over one or two other nodes is left out: so threads at a common barrier stay equivalent.

    Arguments: a graph, int64[node] twice. Answers int64[node] classes, numbered so that each comes after all before it;
    int64[class] works and marks; int64[class + 1] offsets into int64[] classes before and gains.
    """
    nodes = work.size
    class_of = np.empty(nodes, np.int64)
    near, far = np.empty(before.size, np.int64), np.empty(before.size, np.int64)
    start = np.zeros(nodes + 1, np.int64)
    class_work, class_mark = np.empty(nodes, np.int64), np.empty(nodes, np.int64)
    seen, place = np.full(nodes, NONE), np.empty(nodes, np.int64)  # of a class: the node that it precedes, and its edge
    table = np.full(_table_size(nodes), NONE)
    count = 0
    for node in range(nodes):
        first = end = start[count]
        for edge in range(before_start[node], before_start[node + 1]):
            one = class_of[before[edge]]
            if seen[one] != node:
                seen[one], place[one] = node, end
                near[end], far[end] = one, gain[edge]
                end += 1
            elif gain[edge] > far[place[one]]:
                far[place[one]] = gain[edge]
        if end - first > 1:
            end = _drop_implied(near, far, first, end, start, seen, place, node)
        at = _hash(near, far, first, end, work[node], mark[node]) & (table.size - 1)
        while table[at] != NONE:
            one = table[at]
            if class_work[one] == work[node] and class_mark[one] == mark[node]:
                if _have_same_edges(near, far, start[one], start[one + 1], end - first, seen, place, node):
                    break
            at = (at + 1) & (table.size - 1)
        if table[at] == NONE:
            table[at] = count
            class_work[count], class_mark[count] = work[node], mark[node]
            count += 1
            start[count] = end
        class_of[node] = table[at]
    works, marks, edges = class_work[:count].copy(), class_mark[:count].copy(), start[count]
    return class_of, works, marks, start[: count + 1].copy(), near[:edges].copy(), far[:edges].copy()


@inner
def _table_size(nodes):
    """The size of a hash table for classes: a power of two, at most half of it used."""
    size = 16
    while size < 2 * nodes:
        size *= 2
    return size


@inner
def _drop_implied(near, far, first, end, start, seen, place, node):
    """Leave out edges, from `first` to `end`, that are implied by a path over others; returns their new end."""
    for at in range(first, end):
        one = near[at]
        for edge in range(start[one], start[one + 1]):
            once, way = near[edge], far[at] + far[edge]
            if seen[once] == node and far[place[once]] <= way:
                seen[once] = NONE
            for further in range(start[once], start[once + 1]):
                twice = near[further]
                if seen[twice] == node and far[place[twice]] <= way + far[further]:
                    seen[twice] = NONE
    kept = first
    for at in range(first, end):
        if seen[near[at]] == node:
            near[kept], far[kept] = near[at], far[at]
            place[near[kept]] = kept
            kept += 1
    return kept


@inner
def _hash(near, far, first, end, work, mark):
    """A hash of a set of edges that does not depend on their order."""
    found = work * 1_000_003 + mark * 7_919 + (end - first)
    for at in range(first, end):
        found += (near[at] + 1) * 73_856_093 ^ (far[at] & 0xFFFFF) * 19_349_663
    return found ^ (found >> 17)


@inner
def _have_same_edges(near, far, first, end, count, seen, place, node):
    """Whether the edges of a class, from `first` to `end`, are the `count` edges of a node."""
    if end - first != count:
        return False
    for edge in range(first, end):
        one = near[edge]
        if seen[one] != node or far[place[one]] != far[edge]:
            return False
    return True
