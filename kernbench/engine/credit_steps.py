"""Steps of routes in a network with credits: where a source sends flits, and where they end or fork."""

from __future__ import annotations

import numpy as np

from kernels_jit.layout import codes


def list_ends(route: np.ndarray, whole: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """bool[step] behind which steps of some routes flits end, and int64[] those behind which they fork in a router.

    `route`: ROUTE[route]; `whole`: int64[step] as of STEP.
    """
    last, ends = route["end"] - 1, np.zeros(len(whole), bool)
    ends[:-1] = whole[1:] == 1
    ends[last] = route["forks"] == 0
    behind = route["parent"] != codes.NONE
    ends[last[route["parent"][behind]]] = whole[route["start"][behind]] == 1
    return ends, last[(route["forks"] > 0) & ~ends[last]]


def list_begins(route: np.ndarray, whole: np.ndarray, is_memory: np.ndarray) -> np.ndarray:
    """bool[step] where a source sends flits of some routes: at their begin, or behind a memory there.

    `route`: ROUTE[route]; `whole`: int64[step] as of STEP; `is_memory`: bool[step].
    """
    begins = whole == 1
    begins[route["start"][route["parent"] == codes.NONE]] = True
    begins[1:] |= begins[:-1] & is_memory[:-1]
    return begins
