"""Nodes of an order that have the same time wherever figures vary, made one: 256 PEs that do the same do it once.

A *class* is all nodes that have the same work and come in the same way after the same classes.
"""

from __future__ import annotations

import numpy as np

from kernels_jit._jit import inner, jit
from kernels_jit.codes import NONE
from kernels_jit.state import NEVER


@jit
def find_between(order, before_start, before, starts, targets):
    """int64[] the nodes by which some targets come after some starts, these included, each after all before it.

    Arguments: int64[node] sorted so, int64[node + 1] offsets into int64[edge] nodes before, int64[] nodes twice.
    """
    needed, reached = np.zeros(order.size, np.bool_), np.zeros(order.size, np.bool_)
    needed[targets], reached[starts] = True, True
    first = 0
    while first < order.size and not reached[order[first]]:
        first += 1
    for place in range(order.size - 1, first - 1, -1):
        node = order[place]
        if needed[node]:
            for edge in range(before_start[node], before_start[node + 1]):
                needed[before[edge]] = True
    found = np.empty(order.size - first, np.int64)
    count = 0
    for node in order[first:]:
        if not needed[node]:
            continue
        for edge in range(before_start[node], before_start[node + 1]):
            reached[node] = reached[node] or reached[before[edge]]
        if reached[node]:
            found[count] = node
            count += 1
    return found[:count].copy()


@jit
def merge_alike(nodes, before_start, before, gain, work, starts):
    """The classes of some nodes, given each after all before it. Other nodes before them do not count.

    An edge that says no more than a way over one or two other nodes is left out: so threads that meet at a barrier stay alike.

    Arguments: int64[] nodes, int64[node + 1] offsets into int64[edge] nodes before and gains, int64[node] work, int64[] nodes
    that begin of themselves, which makes them no class with others. Answers int64[node] classes, NONE for other nodes, numbered
    so that each comes after all before it; int64[class] works; bool[class] which begin of themselves; int64[class + 1] offsets
    into int64[] classes before and gains.
    """
    begins, class_of = np.zeros(work.size, np.bool_), np.full(work.size, NONE)
    begins[starts] = True
    edges = 0
    for node in nodes:
        edges += before_start[node + 1] - before_start[node]
    near, far = np.empty(edges, np.int64), np.empty(edges, np.int64)
    start, class_work = np.zeros(nodes.size + 1, np.int64), np.empty(nodes.size, np.int64)
    class_begins = np.empty(nodes.size, np.bool_)
    seen, place = (
        np.full(nodes.size, NONE),
        np.empty(nodes.size, np.int64),
    )  # of a class: which node it is before, and where
    size = 16
    while size < 2 * nodes.size:
        size *= 2
    table = np.full(size, NONE)
    count = 0
    for node in nodes:
        first = end = start[count]
        for edge in range(before_start[node], before_start[node + 1]):
            one = class_of[before[edge]]
            if one == NONE:
                continue
            if seen[one] != node:
                seen[one], place[one] = node, end
                near[end], far[end] = one, gain[edge]
                end += 1
            elif gain[edge] > far[place[one]]:
                far[place[one]] = gain[edge]
        if end - first > 1:
            end = _cut(near, far, first, end, start, seen, place, node)
        at = _hash(near, far, first, end, work[node]) & (size - 1)
        while table[at] != NONE:
            one = table[at]
            if class_work[one] == work[node] and class_begins[one] == begins[node]:
                if _are_before(near, far, start[one], start[one + 1], end - first, seen, place, node):
                    break
            at = (at + 1) & (size - 1)
        if table[at] == NONE:
            table[at] = count
            class_work[count], class_begins[count] = work[node], begins[node]
            count += 1
            start[count] = end
        class_of[node] = table[at]
    edges = start[count]
    return (
        class_of,
        class_work[:count],
        class_begins[:count],
        start[: count + 1],
        near[:edges].copy(),
        far[:edges].copy(),
    )


@inner
def _cut(near, far, first, end, start, seen, place, node):
    """Leave out edges, from `first` to `end`, that say no more than a way over others; answers where they end."""
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
def _hash(near, far, first, end, work):
    """A number that sets of edges have in common which are the same, in whatever order."""
    found = work * 1_000_003 + (end - first)
    for at in range(first, end):
        found += (near[at] + 1) * 73_856_093 ^ (far[at] & 0xFFFFF) * 19_349_663
    return found ^ (found >> 17)


@inner
def _are_before(near, far, first, end, count, seen, place, node):
    """Whether the edges of a class, from `first` to `end`, are those of a node, of which there are so many."""
    if end - first != count:
        return False
    for edge in range(first, end):
        one = near[edge]
        if seen[one] != node or far[place[one]] != far[edge]:
            return False
    return True


@jit
def find_ends(work, begins, start, near, far, work_fs):
    """int64[class, point] when classes end at the soonest, NEVER at the latest; those that begin do so at 0, or later.

    Arguments as `merge_alike` answers them; int64[work, point] what works take.
    """
    points = work_fs.shape[1]
    end = np.empty((work.size, points), np.int64)
    for one in range(work.size):
        here, takes = end[one], work_fs[work[one]]
        here[:] = 0 if begins[one] else -NEVER
        for edge in range(start[one], start[one + 1]):
            other, more = end[near[edge]], far[edge]
            for point in range(points):
                here[point] = max(here[point], other[point] + more)
        for point in range(points):
            here[point] = min(here[point] + takes[point], NEVER)
    return end
