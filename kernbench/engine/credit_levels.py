"""Levels of a network with credits, so that several windows of a level can be served while its state is in the caches."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import dijkstra

ACTORS = 64  # of a word, which has a level


def find_levels(words: int, links: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """int64[word] the level of each word of actors: those that see each other are of one level or of two that follow.

    `links`: int64[link, 2] the actors that send over each link and that flits wait at behind it, or NONE. `nodes`:
    int64[link, 2] the nodes that it comes from and leads to; what ends at a node without an actor may go on over its links.
    """
    sender, receiver = links.T
    src, dst = nodes.T
    direct = _joined(sender[receiver >= 0] // ACTORS, receiver[receiver >= 0] // ACTORS, (words, words))
    into = _joined(sender[receiver < 0] // ACTORS, dst[receiver < 0], (words, int(nodes.max()) + 1))
    onward = _joined(src, sender // ACTORS, (int(nodes.max()) + 1, words))
    near = direct + into @ onward
    level = np.full(words, -1)
    while (level < 0).any():
        far = dijkstra(near, directed=False, indices=int(np.argmin(level)), unweighted=True)
        reached = np.isfinite(far)
        level[reached] = far[reached]
    return level


def _joined(row: np.ndarray, column: np.ndarray, shape: tuple[int, int]) -> csr_matrix:
    """A matrix that is 1 or more where a row and a column are joined."""
    return coo_matrix((np.ones(len(row)), (row, column)), shape).tocsr()
