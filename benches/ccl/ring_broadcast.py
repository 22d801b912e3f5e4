"""Broadcast along the ring of ranks, from the root both ways at once, piece after piece."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    half_ring_bound,
    pass_on,
    ring_way,
)
from kernbench.ccl import ring_neighbours as neighbours

COLLECTIVE = "broadcast"


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan, whose root is the rank that has the buffer."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan(root=0)


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Take this PE's part from the side of the root and pass it on."""
    source, targets = ring_way((rank - plan.root) % world_size, world_size)
    for piece in plan.cut(plan.part(tl, n_elem)):
        if source is None:
            pass_on(tl, targets, tl.load(t_ptr + piece.offset, piece.elements, plan.dtype) if targets else None)
        else:
            tensor = tl.recv(source, piece.elements, plan.dtype)
            pass_on(tl, targets, tensor)
            tl.store(t_ptr + piece.offset, tensor)


def bound(cost, world, nbytes, plan):
    """The last piece leaves the root after all others and goes half way round."""
    return half_ring_bound(cost, world, nbytes)
