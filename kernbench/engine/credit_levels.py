"""Levels of a network with credits, so that several windows of a level can be served while its state is in the caches.

Each run of a large network finds them: for `sip_2x4x4_credit` in 2 ms, where a library of graphs took 18 ms and 0.1 s for its
import.
"""

from __future__ import annotations

from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np

from kernbench.arrays import count_rows, expand_ranges
from kernels_jit.layout.codes import NONE
from kernels_jit.layout.records import BLOCK_ACTORS
from kernels_jit.routing.dijkstra import FAR, sparse_distances

_LINUX = Path("/sys/devices/system/cpu/cpu0/cache/index2")
_USUAL = 1 << 19  # bytes, where the system does not tell


@cache
def second_cache_bytes() -> int:
    """The size of a core's second cache as Linux tells it, or half a MiB."""
    return read_bytes(_LINUX) or _USUAL


def read_bytes(cache_of_cpu: Path) -> int | None:
    """The bytes of a second cache that Linux describes in a directory; None for another cache or an unknown size."""
    with suppress(OSError, ValueError):
        level, size = ((cache_of_cpu / name).read_text(encoding="ascii").strip() for name in ("level", "size"))
        if level == "2" and size.endswith("K"):
            return int(size.removesuffix("K")) * 1024 or None
    return None


def find_levels(actor_blocks: int, links: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """int64[block] the level of each block of actors: those that see each other are of one level or of two that follow.

    `links`: int64[link, 2] the actors that send over each link and that flits wait at behind it, or NONE. `nodes`:
    int64[link, 2] the nodes that it comes from and leads to; what ends at a node without an actor may go on over its links.
    """
    block = links // BLOCK_ACTORS
    is_end = block[:, 1] < 0
    order = np.argsort(nodes[:, 0], kind="stable")  # links by the node that they come from
    src, dst = nodes[order, 0], nodes[is_end, 1]
    onward, end = expand_ranges(np.searchsorted(src, dst), np.searchsorted(src, dst, side="right"))
    through = np.stack([block[is_end, 0][end], block[order, 0][onward]], axis=1)
    near = np.concatenate([block[~is_end], through])
    return _distances(actor_blocks, count_rows(np.concatenate([near, near[:, ::-1]]))[0])


def _distances(actor_blocks: int, near: np.ndarray) -> np.ndarray:
    """int64[block] the fewest steps from the first block of its part. `near`: int64[pair, 2] blocks, sorted, both ways."""
    start = np.searchsorted(near[:, 0], np.arange(actor_blocks + 1))
    neighbour, weight = np.ascontiguousarray(near[:, 1]), np.ones(len(near), np.int64)
    level = np.where(np.diff(start) == 0, 0, FAR)
    while (unknown := np.flatnonzero(level == FAR)).size:
        level = np.minimum(level, sparse_distances(start, neighbour, weight, int(unknown[0]), NONE))
    return level
