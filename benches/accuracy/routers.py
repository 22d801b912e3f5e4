"""Batches of packets on three routers, with their last cycles in BookSim 2.

N. Jiang et al., "A detailed and flexible cycle-accurate network-on-chip simulator", ISPASS 2013: 8 x 8 mesh, dimension order,
iSLIP with one iteration; our own runs of it. Each node makes a packet a cycle until its list is used up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

FLIT = 256
NODES = 64
ROUTERS: dict[str, dict[str, Any]] = {
    "one channel": {"virtual_channels": 1, "buffer_flits": 8},
    "four channels": {"virtual_channels": 4, "buffer_flits": 16},
    "eight channels": {
        "virtual_channels": 8,
        "buffer_flits": 8,
        "credit_ns": 2,
        "speculative": False,
        "reuse": "tail_credit",
        "input_speedup": 2,
    },
}
DESTINATIONS: dict[str, tuple[Callable[[int], list[int]], int]] = {  # of a node, and flits of a packet
    "ring": (lambda node: [(node + 1) % NODES] * 256, 1),
    "bitcomp": (lambda node: [NODES - 1 - node] * 256, 1),
    "all to all, shifted": (lambda node: [(node + n) % NODES for n in range(1, NODES)], 4),
    "all to all, in order": (lambda node: [other for other in range(NODES) if other != node], 16),
}
RECORDED = [  # the last cycle, and the sum of the last cycles of all pairs
    ("ring", "one channel", 302, 17018),
    ("ring", "four channels", 302, 17018),
    ("ring", "eight channels", 348, 19192),
    ("bitcomp", "one channel", 1571, 75012),
    ("bitcomp", "four channels", 1536, 74120),
    ("bitcomp", "eight channels", 2120, 100228),
    ("all to all, shifted", "one channel", 918, 1690558),
    ("all to all, shifted", "four channels", 684, 1359158),
    ("all to all, shifted", "eight channels", 708, 1311998),
    ("all to all, in order", "one channel", 5415, 11061177),
    ("all to all, in order", "four channels", 4333, 7950534),
    ("all to all, in order", "eight channels", 4070, 8006966),
]


def flows_of(batch: str) -> list[tuple[int, int, int]]:
    """The packets of a batch: source, destination and the cycle in which each is made."""
    destinations, _ = DESTINATIONS[batch]
    return [(node, other, at) for node in range(NODES) for at, other in enumerate(destinations(node))]


def texts_of(batch: str) -> list[str]:
    """The packets of a batch as flows."""
    nbytes = DESTINATIONS[batch][1] * FLIT
    return [f"{src}:{dst}:{nbytes}@{at}" for src, dst, at in flows_of(batch)]
