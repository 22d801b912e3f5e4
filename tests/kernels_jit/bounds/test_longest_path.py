"""Longest paths against their plain twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.bounds.longest_path import find_longest, group_edges, sort_topologically, trace
from kernels_jit.layout.codes import NONE
from tests.naive.bounds import longest_ends

pytestmark = pytest.mark.slow


@st.composite
def graphs(draw):
    """Up to eight nodes in a hidden order; edges follow it."""
    count = draw(st.integers(1, 8))
    hidden = draw(st.permutations(range(count)))
    before = {node: [] for node in range(count)}
    for i, node in enumerate(hidden):
        for other in draw(st.lists(st.sampled_from(hidden[:i]), max_size=3)) if i else []:
            before[node].append((other, draw(st.integers(-5, 5))))
    return before, draw(st.lists(st.integers(0, 20), min_size=count, max_size=count))


def arrays(before):
    start = np.cumsum([0, *(len(edges) for edges in before.values())])
    flat = np.array([edge for edges in before.values() for edge in edges], np.int64).reshape(-1, 2)
    return start, flat[:, 0].copy(), flat[:, 1].copy()


@given(graphs(), st.randoms(use_true_random=False))
def test_edges_are_grouped(graph, random):
    before, _ = graph
    edges = [(other, node, gain) for node, others in before.items() for other, gain in others]
    random.shuffle(edges)
    start, nodes, gain = group_edges(len(before), *np.array(edges, np.int64).reshape(-1, 3).T.copy())
    for node in before:
        here = slice(start[node], start[node + 1])
        mine = [(other, amount) for other, after, amount in edges if after == node]
        assert list(zip(nodes[here].tolist(), gain[here].tolist(), strict=True)) == mine


@given(graphs(), st.integers(0, 9))
def test_longest_paths(graph, base):
    before, cost = graph
    start, nodes, gain = arrays(before)
    order, placed = sort_topologically(start, nodes)
    assert placed == len(before)
    assert sorted(order.tolist()) == list(range(len(before)))
    floor = np.full(len(before), base)
    end, decided = find_longest(order, start, nodes, gain, floor, np.array(cost))
    assert end.tolist() == longest_ends(before, floor.tolist(), cost)
    for node in before:
        path, edges = trace(node, nodes, decided)
        assert path[0] == node
        assert edges[-1] == NONE
        assert end[node] == base + sum(cost[other] for other in path) + gain[edges[:-1]].sum()


def test_a_circle_has_no_order():
    start, nodes, _ = arrays({0: [(2, 0)], 1: [], 2: [(1, 0), (0, 0)]})
    order, placed = sort_topologically(start, nodes)
    assert placed < 3
    assert order[placed] in (0, 2)
