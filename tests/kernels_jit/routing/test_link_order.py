"""Ranks of links rise along every turn that closes no circle with the turns before it, on random turns."""

from __future__ import annotations

import networkx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.routing.link_order import rank_links

LINKS = 9
turns = st.lists(st.tuples(st.integers(0, LINKS - 1), st.integers(0, LINKS - 1)), max_size=40)


@given(turns)
def test_ranks_rise_along_all_turns_but_those_that_close_a_circle(taken):
    rank = rank_links(LINKS, np.array(taken, np.int64).reshape(-1, 2))
    assert sorted(rank.tolist()) == list(range(LINKS))
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(LINKS))
    for before, after in taken:
        closes = networkx.has_path(graph, after, before)
        assert (rank[before] < rank[after]) != closes
        if not closes:
            graph.add_edge(before, after)


def test_without_turns_a_rank_is_the_number_of_its_link():
    rank = rank_links(4, np.zeros((0, 2), np.int64))
    assert rank.dtype == np.int32
    assert rank.tolist() == [0, 1, 2, 3]
