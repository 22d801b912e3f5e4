"""Reduce-scatter on the ring of ranks: every buffer is summed on its way to its rank."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    Ring,
    pass_sums,
    whole_ring_bound,
)
from kernbench.ccl import ring_neighbours as neighbours

COLLECTIVE = "reduce_scatter"


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(out_ptr, in_ptrs, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Sum this PE's part of `in_ptrs[r]` over all ranks into that of rank r."""

    def load(owner, piece):
        return tl.load(in_ptrs[owner] + piece.offset, piece.elements, plan.dtype)

    def keep(piece, total):
        tl.store(out_ptr + piece.offset, total)

    ring = Ring(world_size, (rank - 1) % world_size, "global_E", "global_W")  # the last sum is that of the next share
    for batch in plan.batches(plan.part(tl, n_elem)):
        pieces = plan.cut(batch)
        if world_size > 1:
            pass_sums(tl, plan, ring, [pieces] * world_size, load, keep)
        else:
            for piece in pieces:
                keep(piece, load(rank, piece))


def bound(cost, world, nbytes, plan):
    """P - 1 buffers leave everyone one by one, and every buffer takes P - 1 hops one after the other."""
    return whole_ring_bound(cost, nbytes, world.ranks - 1)
