"""Trees of paths: each link once, which link is taken where paths meet, and where the tree is cut."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import numpy as np
import pytest

from kernbench.machine.network.multicast_tree import Branch, find_tree
from kernels_jit.layout.codes import NONE


def test_one_path_is_one_branch():
    tree = find_tree(np.array([1, 2, 3]), [[0, 1, 2]], [False])
    assert tree.branches == [Branch([0, 1, 2], NONE, 0, False, 0)]
    assert tree.ways == [[0, 1, 2]]


def test_a_tree_is_cut_where_it_forks_and_where_a_destination_is():
    """Nodes 1 - 2 in a row, then 3 and 4; 2 is a destination as well."""
    tree = find_tree(np.array([1, 2, 3, 4]), [[0, 1, 2], [0, 1], [0, 1, 3]], [False] * 3)
    assert tree.branches == [
        Branch([0, 1], NONE, 1, False, 2),
        Branch([2], 0, 0, False, 0),
        Branch([3], 0, 2, False, 0),
    ]


def test_a_memory_comes_after_its_last_link():
    tree = find_tree(np.array([1, 2]), [[0], [0, 1]], [True, False])
    assert tree.branches == [
        Branch([0], NONE, NONE, False, 2),
        Branch([1], 0, 1, False, 0),
        Branch([], 0, 0, True, 0),
    ]


def test_of_two_links_to_a_node_that_of_the_earlier_destination_is_taken():
    """Node 3 is reached over 1 by the first path and over 2 by the second, which goes on to 4."""
    ends = np.array([1, 2, 3, 3, 4])
    tree = find_tree(ends, [[0, 2], [1, 3, 4]], [False, False])
    assert tree.ways == [[0, 2], [0, 2, 4]]
    assert tree.branches == [Branch([0, 2], NONE, 0, False, 1), Branch([4], 0, 1, False, 0)]
    tree = find_tree(ends, [[1, 3, 4], [0, 2]], [False, False])
    assert tree.ways == [[1, 3, 4], [1, 3]]


def test_the_source_may_be_a_destination_behind_a_router():
    """An endpoint 0 reaches itself by its router 1, and endpoint 2 from there."""
    tree = find_tree(np.array([1, 0, 2]), [[0, 1], [0, 2]], [False, False])
    assert tree.ways == [[0, 1], [0, 2]]
    assert [branch.links for branch in tree.branches] == [[0], [1], [2]]


@pytest.mark.parametrize("seed", range(20))
def test_any_paths_make_a_tree(seed):
    random, nodes = Random(seed), 9
    pairs = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    link, ends = {pair: n for n, pair in enumerate(pairs)}, np.array([b for _, b in pairs])
    destinations = random.sample(range(1, nodes), random.randint(1, 6))
    paths = []
    for destination in destinations:
        between = random.sample([n for n in range(1, nodes) if n != destination], random.randint(0, 4))
        stops = [0, *between, destination]
        paths.append([link[pair] for pair in pairwise(stops)])
    memories = [random.random() < 0.5 for _ in destinations]
    tree = find_tree(ends, paths, memories)
    links = [link for branch in tree.branches for link in branch.links]
    assert len(set(links)) == len(links) == len({link for way in tree.ways for link in way})
    assert len({ends[link] for link in links}) == len(links), "a node is entered twice"
    assert sorted(branch.destination for branch in tree.branches if branch.destination != NONE) == list(
        range(len(destinations))
    )
    for number, branch in enumerate(tree.branches):
        assert branch.parent < number, "a branch comes before that at whose end it begins"
        assert branch.forks == sum(other.parent == number for other in tree.branches)
        if branch.destination != NONE:
            way, at = list(branch.links), branch.parent
            while at != NONE:
                way = [*tree.branches[at].links, *way]
                at = tree.branches[at].parent
            assert way == tree.ways[branch.destination]
            assert branch.memory == memories[branch.destination]
