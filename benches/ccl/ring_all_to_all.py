"""All-to-all on the ring of ranks: every buffer goes east until it is at its rank, those for the farthest first."""

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

COLLECTIVE = "all_to_all"


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(out_ptrs, in_ptrs, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Put this PE's part of `in_ptrs[r]` into the same place of rank r's `out_ptrs[rank]`."""
    pieces = plan.cut(plan.part(tl, n_elem))

    def bring(distance, piece):
        return tl.load(in_ptrs[(rank + distance) % world_size] + piece.offset, piece.elements, plan.dtype)

    def keep(key, distance, tensor):
        whole_way, piece = key
        if distance == whole_way:
            tl.store(out_ptrs[(rank - distance) % world_size] + piece.offset, tensor)

    for piece in pieces:
        tl.store(out_ptrs[rank] + piece.offset, bring(0, piece))
    own = [
        Message(
            (far, piece), far, lambda _, piece=piece: piece.elements, lambda far=far, piece=piece: bring(far, piece)
        )
        for far in range(world_size - 1, 0, -1)
        for piece in pieces
    ]
    circulate(tl, own, keep, dtype=plan.dtype, window=plan.window, forward="global_E", backward="global_W")


def bound(cost, world, nbytes, plan):
    """P (P - 1) / 2 buffers leave everyone one by one, and one buffer takes P - 1 hops one after the other."""
    return whole_ring_bound(cost, nbytes, world.ranks * (world.ranks - 1) // 2)
