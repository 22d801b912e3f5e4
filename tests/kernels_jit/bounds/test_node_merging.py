"""Classes of nodes against longest paths over the nodes themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.bounds.longest_path import sort_topologically
from kernels_jit.bounds.node_merging import extract_subgraph, find_gates, merge_equivalent, reverse_graph
from kernels_jit.bounds.queueing_bounds import Classes, find_ends
from kernels_jit.layout.codes import NONE
from tests.kernels_jit.bounds.test_longest_path import arrays, graphs
from tests.naive.bounds import longest_ends

pytestmark = pytest.mark.slow

NEVER = 10**6
FS = np.array([[0, 1, 7], [0, 40, 3]])  # of three works, at two points


def twice(before):
    """A graph beside itself."""
    count = len(before)
    return before | {node + count: [(one + count, gain) for one, gain in edges] for node, edges in before.items()}


def classes(before, work, starts, targets):
    """int64[node] the class of each or NONE, int64[point, class] when each ends."""
    start, nodes, gain = arrays(before)
    order, _ = sort_topologically(start, nodes)
    part, *graph = extract_subgraph(
        order, start, nodes, gain, *(np.array(some, np.int64) for some in (starts, targets))
    )
    begins = np.isin(part, starts).astype(np.int64)
    found, of, mark, *edges = merge_equivalent(*graph, np.array(work, np.int64)[part], begins)
    ends = find_ends(Classes(*edges, of, np.where(mark == 1, 0, -NEVER)), np.arange(len(of)), FS)
    class_of = np.full(len(before), NONE)
    class_of[part] = found
    return class_of, ends


@given(graphs(), st.data())
def test_classes_end_when_their_nodes_do(graph, data):
    before, _ = graph
    some = st.lists(st.sampled_from(sorted(before)), unique=True, min_size=1)
    starts, targets = data.draw(some), data.draw(some)
    work = data.draw(st.lists(st.integers(0, 2), min_size=len(before), max_size=len(before)))
    of, end = classes(before, work, starts, targets)
    floor = [0 if node in starts else -NEVER for node in before]
    for point in range(2):
        ends = longest_ends(before, floor, FS[point, work].tolist())
        for node in targets:
            assert (of[node] != NONE) == (ends[node] > -NEVER // 2)
            assert of[node] == NONE or end[point, of[node]] == ends[node]


@given(graphs(), st.data())
def test_what_is_alike_is_one(graph, data):
    before, _ = graph
    work = data.draw(st.lists(st.integers(0, 2), min_size=len(before), max_size=len(before)))
    starts = data.draw(st.lists(st.sampled_from(sorted(before)), unique=True, min_size=1))
    count, every = len(before), list(before)
    once, _ = classes(before, work, starts, every)
    both, end = classes(
        twice(before), work * 2, [*starts, *(node + count for node in starts)], [*every, *range(count, 2 * count)]
    )
    assert both[:count].tolist() == both[count:].tolist()
    assert end.shape[1] == once.max(initial=NONE) + 1


def test_threads_that_meet_stay_alike():
    """Nodes 1 and 2 come after 0, node 3 after both; 4 and 5 after 3, and each after its own, through which 3 comes anyway."""
    before = {0: [], 1: [(0, 0)], 2: [(0, 0)], 3: [(1, 0), (2, 0)], 4: [(3, 0), (1, 0)], 5: [(3, 0), (2, 0)]}
    of, _ = classes(before, [0, 1, 2, 0, 1, 1], [0], [4, 5])
    assert of[4] == of[5]
    before[4][1] = (1, 1)  # more than through the node at which they meet
    of, end = classes(before, [0, 1, 2, 0, 1, 1], [0], [4, 5])
    assert of[4] != of[5]
    assert end[:, of[4]].tolist() == [8, 81]


def test_the_way_back_from_gates():
    """A chain of five with gates at 2 and 4, and an edge past the first: it leads to a further gate than its end does."""
    start, before, gain = np.array([0, 0, 1, 2, 3, 6]), np.array([0, 1, 2, 3, 0, 3]), np.array([1, 2, 3, 4, 5, 6])
    opens = np.array([NONE, NONE, 0, NONE, 1])
    gate = find_gates(start, before, opens)
    assert gate.tolist() == [0, 0, 0, 1, 1]
    turned, after, gains = reverse_graph(start, before, gain, gate)
    edges = {4 - node: [4 - other for other in after[turned[node] : turned[node + 1]]] for node in range(5)}
    assert edges == {4: [], 3: [4, 4], 2: [], 1: [2], 0: [1]}
    assert gains.tolist() == [4, 6, 2, 1]
