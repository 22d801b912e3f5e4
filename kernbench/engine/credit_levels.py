"""Levels of a network with credits, so that several windows of a level can be served while its state is in the caches."""

from __future__ import annotations

from collections import defaultdict
from itertools import product
from typing import Any, cast

import numpy as np

from kernels_jit.layout.records import PATCH_ACTORS


def find_levels(patches: int, links: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """int64[patch] the level of each patch of actors: those that see each other are of one level or of two that follow.

    `links`: int64[link, 2] the actors that send over each link and that flits wait at behind it, or NONE. `nodes`:
    int64[link, 2] the nodes that it comes from and leads to; what ends at a node without an actor may go on over its links.
    """
    import networkx

    library, level = cast("Any", networkx), np.zeros(patches, np.int64)
    near = library.Graph()
    near.add_nodes_from(range(patches))
    to, onward = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for (sender, receiver), (src, dst) in zip((links // PATCH_ACTORS).tolist(), nodes.tolist(), strict=True):
        onward[src].add(sender)
        if receiver < 0:
            to[dst].add(sender)
        else:
            near.add_edge(sender, receiver)
    for node, senders in to.items():
        near.add_edges_from(product(senders, onward[node]))
    for part in library.connected_components(near):
        for patch, distance in library.single_source_shortest_path_length(near, min(part)).items():
            level[patch] = distance
    return level
