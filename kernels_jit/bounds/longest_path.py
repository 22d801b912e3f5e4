"""Longest paths through a precedence graph, for bounds of a program's time."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.layout import codes
from kernels_jit.layout.records import NEVER

_NEW, _OPEN, _PLACED = 0, 1, 2


@jit
def group_edges(
    count: int, before: np.ndarray, after: np.ndarray, gain: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Edges by their target node, those of one node in their order.

    Arguments: number of nodes, int64[edge] three times. Answers int64[node + 1] offsets, and int64[edge] nodes before and
    gains, sorted. Counting is several times faster than sorting.
    """
    start = np.zeros(count + 1, np.int64)
    for edge in range(after.size):
        start[after[edge] + 1] += 1
    start = np.cumsum(start)
    free = start[:-1].copy()
    sorted_before, sorted_gain = np.empty(after.size, np.int64), np.empty(after.size, np.int64)
    for edge in range(after.size):
        place = free[after[edge]]
        free[after[edge]] += 1
        sorted_before[place], sorted_gain[place] = before[edge], gain[edge]
    return start, sorted_before, sorted_gain


@jit
def sort_topologically(before_start: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, int]:
    """Nodes in topological order: each comes after all its predecessors.

    Arguments: int64[node + 1] offsets into int64[edge] nodes that come before. Answers int64[node] and how many of it
    are filled: fewer than there are nodes where some wait for each other, and then the last one is among them.
    """
    count = before_start.size - 1
    order = np.empty(count + 1, np.int64)
    found = np.zeros(count, np.uint8)
    stack = np.empty(count + 1, np.int64)
    following = before_start[:-1].copy()
    placed = 0
    for root in range(count):
        if found[root] != _NEW:
            continue
        stack[0], depth, found[root] = root, 1, _OPEN
        while depth > 0:
            node = stack[depth - 1]
            edge = following[node]
            if edge == before_start[node + 1]:
                order[placed] = node
                placed += 1
                found[node] = _PLACED
                depth -= 1
                continue
            following[node] = edge + 1
            onward = before[edge]
            if found[onward] == _OPEN:
                order[placed] = onward
                return order[:count], placed
            if found[onward] == _NEW:
                stack[depth], found[onward] = onward, _OPEN
                depth += 1
    return order[:count], placed


@jit
def find_longest(
    order: np.ndarray,
    before_start: np.ndarray,
    before: np.ndarray,
    gain: np.ndarray,
    floor: np.ndarray,
    cost: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The earliest end of each node: `cost` after its `floor` and after all predecessors, each with its edge's `gain`.

    No end is beyond NEVER; costs are less than that. Returns int64[node] ends, and int64[node] the edge that decides it,
    or NONE where the floor does.
    """
    end = np.zeros(order.size, np.int64)
    decided = np.full(order.size, codes.NONE, np.int64)
    for node in order:
        best, by = floor[node], codes.NONE
        for edge in range(before_start[node], before_start[node + 1]):
            time = end[before[edge]] + gain[edge]
            if time > best:
                best, by = time, edge
        end[node], decided[node] = min(best + cost[node], NEVER), by
    return end, decided


@jit
def trace(node: int, before: np.ndarray, decided: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The path that decides a node, from its end to its start.

    Returns int64[] nodes and int64[] the edge before each, NONE before the last of them.
    """
    count, at = 1, node
    while decided[at] != codes.NONE:
        at = before[decided[at]]
        count += 1
    nodes, edges = np.empty(count, np.int64), np.empty(count, np.int64)
    at = node
    for i in range(count):
        nodes[i], edges[i] = at, decided[at]
        if decided[at] != codes.NONE:
            at = before[decided[at]]
    return nodes, edges
