"""Reduce along the ring of ranks, to the root from both sides, piece after piece."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    half_ring_bound,
    ring_way,
)
from kernbench.ccl import ring_neighbours as neighbours

COLLECTIVE = "reduce"


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan, whose root is the rank that gets the sum."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan(root=0)


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Add what comes to this PE's part and pass the sum on; the root stores it."""
    target, sources = ring_way((rank - plan.root) % world_size, world_size)
    for piece in plan.cut(plan.part(tl, n_elem)) if target or sources else []:
        total = tl.load(t_ptr + piece.offset, piece.elements, plan.dtype)
        for source in sources:
            total = plan.combine(tl, total, tl.recv(source, piece.elements, plan.dtype))
        if target:
            tl.send(target, total)
        else:
            tl.store(t_ptr + piece.offset, total)
        tl.release(total)


def bound(cost, world, nbytes, plan):
    """The last piece leaves the farthest rank after all others and goes half way round."""
    return half_ring_bound(cost, world, nbytes)
