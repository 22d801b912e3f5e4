"""Collective algorithms and their configuration; the names below are the API of algorithm modules.

An algorithm module is a file in `benches/ccl/` (of the working directory, then of KernBench) with the contract of `module.py`.
"""

from __future__ import annotations

from kernbench.ccl.nested_rings import Ring, pass_sums, reduce_over
from kernbench.ccl.plan import Part, Plan
from kernbench.ccl.rank_order import (
    Axis,
    cycle_axis,
    grid_axes,
    level,
    peer_at,
    position,
    ring_neighbours,
    tree_around,
    tree_neighbours,
    turn,
)
from kernbench.ccl.ring import (
    Message,
    circulate,
    half_ring_bound,
    pass_on,
    ring_way,
    whole_ring_bound,
)
from kernbench.ccl.topology import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    find_grid,
)
from kernbench.ccl.tree_reduction import reduce_on_tree
from kernbench.ccl.wiring import Peer, World

__all__ = [
    "SIP_TOPO_MESH",
    "SIP_TOPO_RING",
    "SIP_TOPO_TORUS",
    "TOPO_NAME_TO_KIND",
    "Axis",
    "Message",
    "Part",
    "Peer",
    "Plan",
    "Ring",
    "World",
    "circulate",
    "cycle_axis",
    "find_grid",
    "grid_axes",
    "half_ring_bound",
    "level",
    "pass_on",
    "pass_sums",
    "peer_at",
    "position",
    "reduce_on_tree",
    "reduce_over",
    "ring_neighbours",
    "ring_way",
    "tree_around",
    "tree_neighbours",
    "turn",
    "whole_ring_bound",
]
