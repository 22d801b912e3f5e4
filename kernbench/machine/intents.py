"""Kinds of links, and intents: the links that a kind of traffic may use.

Routing minimises length plus penalties. Crossing between dies costs more than any path inside a die, so no path through a
cube takes a port as a shortcut. Crossing between two IO chiplets of a package costs more than any path across its cubes,
entering an IO chiplet from a cube more than all such crossings, and leaving a package more than any path inside it.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class EdgeKind(IntEnum):
    """The network that a link belongs to."""

    NOC = 0  # the router mesh of a cube, with its links to memories, DMA engines and the M_CPU
    UCIE = 1  # between the routers of a cube and another die
    IO = 2  # inside an IO chiplet
    PCIE = 3  # between an IO chiplet and the switch
    COMMAND = 4  # into control processors and MMUs
    PE = 5  # between the parts of one PE
    SIP = 6  # between two SIPs
    CLOSED = 7  # the direction of a one-way link in which nothing travels


class Intent(IntEnum):
    """The purpose of a route; each intent has its own graph."""

    ALL = 0  # commands, and other traffic that may use every link
    PE_DMA = 1  # no command links
    M_CPU_DMA = 2  # no links inside a PE
    CUBE_LOCAL = 3  # DMA of PEs inside a cube: no links that leave it, and no command links


class RouteKind(IntEnum):
    """The operation of a transfer at its destination."""

    WRITE = 0
    READ = 1
    MESSAGE = 2
    ACKNOWLEDGED = 3  # a message that ends for its sender when an acknowledgement of no bytes is back


FORBIDDEN: dict[Intent, tuple[EdgeKind, ...]] = {
    Intent.ALL: (EdgeKind.CLOSED,),
    Intent.PE_DMA: (EdgeKind.COMMAND, EdgeKind.CLOSED),
    Intent.M_CPU_DMA: (EdgeKind.PE, EdgeKind.CLOSED),
    Intent.CUBE_LOCAL: (EdgeKind.COMMAND, EdgeKind.UCIE, EdgeKind.IO, EdgeKind.PCIE, EdgeKind.SIP, EdgeKind.CLOSED),
}

# Added to the length in µm. A crossing passes two ports, and a SIP has 16 cubes and 5 IO chiplets at most.
PORT_PENALTY = 1_000_000
CHIPLET_PENALTY = 100 * PORT_PENALTY
IO_PENALTY = 10 * CHIPLET_PENALTY
SIP_PENALTY = 1_000 * IO_PENALTY


def allowed_edges(edge_kind: np.ndarray, intent: Intent) -> np.ndarray:
    """int64[m] the ids of the edges that an intent may use, ascending."""
    return np.flatnonzero(~np.isin(edge_kind, FORBIDDEN[intent])).astype(np.int64)
