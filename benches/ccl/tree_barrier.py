"""Barrier on a binary tree of ranks: a token from everyone up to the root, and one back."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    tree_around,
)
from kernbench.ccl import tree_neighbours as neighbours

COLLECTIVE = "barrier"
TOKEN = 8  # elements


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Come when all below have, go when the root says so."""
    children = [f"global_{side}" for side in tree_around(rank, world_size) if side != "N"]
    token = tl.zeros(TOKEN, plan.dtype)
    for child in children:
        tl.recv(child, TOKEN, plan.dtype)
    if rank:
        tl.send("global_N", token)
        tl.recv("global_N", TOKEN, plan.dtype)
    for child in children:
        tl.send(child, token)


def bound(cost, world, nbytes, plan):
    """Up the tree and down again: 2 * depth * alpha."""
    return 2 * (world.ranks.bit_length() - 1) * cost.best("global_N").alpha_ns
