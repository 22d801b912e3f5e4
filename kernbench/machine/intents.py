"""Kinds of links, and intents: the links that a kind of traffic may use.

Routing minimises length; crossing between dies is made dearer than any way inside one, so that no path through a cube
takes a port as a shortcut, and entering an IO chiplet dearer than any way across the cubes of a package.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class EdgeKind(IntEnum):
    """What a link belongs to."""

    NOC = 0  # the router mesh of a cube, and what data reaches from it
    UCIE = 1  # between the routers of a cube and another die
    IO = 2  # inside an IO chiplet
    PCIE = 3  # between an IO chiplet and the switch
    COMMAND = 4  # into control processors and MMUs
    PE = 5  # between the parts of one PE


class Intent(IntEnum):
    """What a route is for: each intent has its own graph."""

    ALL = 0  # commands, and whatever may go everywhere
    PE_DMA = 1  # no command links
    M_CPU_DMA = 2  # nothing inside a PE
    CUBE_LOCAL = 3  # nothing that leaves a cube


class RouteKind(IntEnum):
    """What a transfer does at its destination."""

    WRITE = 0
    READ = 1
    MESSAGE = 2


FORBIDDEN: dict[Intent, tuple[EdgeKind, ...]] = {
    Intent.ALL: (),
    Intent.PE_DMA: (EdgeKind.COMMAND,),
    Intent.M_CPU_DMA: (EdgeKind.PE,),
    Intent.CUBE_LOCAL: (EdgeKind.UCIE, EdgeKind.IO, EdgeKind.PCIE),
}

# Added to the length in µm. A crossing passes two ports; no machine has a thousand cubes in a row.
PORT_PENALTY = 1_000_000
IO_PENALTY = 1_000 * PORT_PENALTY


def allowed_edges(edge_kind: np.ndarray, intent: Intent) -> np.ndarray:
    """int64[m] the ids of the links of an intent, ascending."""
    return np.flatnonzero(~np.isin(edge_kind, FORBIDDEN[intent])).astype(np.int64)
