"""Levels of a network with credits, so that several windows of a level can be served while its state is in the caches.

Each run of a large network finds them. A search with numpy takes 2 ms for `sip_2x4x4_credit`, where a library of graphs took
18 ms and 0.1 s for its import.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.layout.records import PATCH_ACTORS


def find_levels(patches: int, links: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """int64[patch] the level of each patch of actors: those that see each other are of one level or of two that follow.

    `links`: int64[link, 2] the actors that send over each link and that flits wait at behind it, or NONE. `nodes`:
    int64[link, 2] the nodes that it comes from and leads to; what ends at a node without an actor may go on over its links.
    """
    sender, receiver = (links // PATCH_ACTORS).T
    src, dst = nodes[:, 0], nodes[:, 1]
    ends = np.flatnonzero(receiver < 0)
    order = np.argsort(src, kind="stable")  # links by the node that they come from
    first, after = np.searchsorted(src[order], dst[ends]), np.searchsorted(src[order], dst[ends], side="right")
    count = after - first  # links onward from the node at which each of `ends` ends
    onward = order[np.repeat(after - np.cumsum(count), count) + np.arange(count.sum())]
    is_joined = receiver >= 0
    one = np.concatenate([sender[is_joined], np.repeat(sender[ends], count)])
    other = np.concatenate([receiver[is_joined], sender[onward]])
    pairs = np.unique(np.concatenate([one * patches + other, other * patches + one]))
    return _distances(patches, *np.divmod(pairs, patches))


def _distances(patches: int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """int64[patch] the fewest steps from the first patch of its part. `one`, `other`: int64[pair] patches, both ways round."""
    found = np.zeros(patches, np.int64)
    found[one] = -1
    while (unknown := np.flatnonzero(found < 0)).size:
        reached, distance = unknown[:1], 0
        while reached.size:
            found[reached] = distance
            distance += 1
            onward = other[np.isin(one, reached)]
            reached = np.unique(onward[found[onward] < 0])
    return found
