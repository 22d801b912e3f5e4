"""All-gather on the ring of ranks: every buffer goes all the way round."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Message,
    Plan,
    circulate,
    whole_ring_bound,
)
from kernbench.ccl import ring_neighbours as neighbours

COLLECTIVE = "all_gather"


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(out_ptrs, in_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Put the part of rank r into the same place of `out_ptrs[r]`."""
    part = plan.part(tl, n_elem)
    pieces = plan.cut(part)

    def bring(piece):
        tensor = tl.load(in_ptr + piece.offset, piece.elements, plan.dtype)
        tl.store(out_ptrs[rank] + piece.offset, tensor)
        return tensor

    def keep(piece, distance, tensor):
        tl.store(out_ptrs[(rank - distance) % world_size] + piece.offset, tensor)

    if world_size == 1:
        for piece in pieces:
            bring(piece)
    own = [
        Message(piece, world_size - 1, lambda _, piece=piece: piece.elements, lambda piece=piece: bring(piece))
        for piece in pieces
    ]
    circulate(tl, own, keep, dtype=plan.dtype, window=plan.window, forward="global_E", backward="global_W")


def bound(cost, world, nbytes, plan):
    """P - 1 buffers leave everyone one by one, and every buffer takes P - 1 hops one after the other."""
    return whole_ring_bound(cost, nbytes, world.ranks - 1)
