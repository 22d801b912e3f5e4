"""Reduce-scatter on the ring of ranks: every buffer is summed on its way to its rank."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
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
        return tl.load(in_ptrs[owner % world_size] + piece.offset, piece.elements, plan.dtype)

    first = rank - 1 if world_size > 1 else rank
    for batch in plan.batches(plan.part(tl, n_elem)):
        pieces = plan.cut(batch)
        sums = [load(first, piece) for piece in pieces]
        for step in range(world_size - 1):
            for i, piece in enumerate(pieces):
                tl.send("global_E", sums[i])
                tl.release(sums[i])
                received = tl.recv("global_W", piece.elements, plan.dtype)
                sums[i] = plan.combine(tl, load(rank - 2 - step, piece), received)
        for piece, total in zip(pieces, sums, strict=True):
            tl.store(out_ptr + piece.offset, total)
            tl.release(total)


def bound(cost, world, nbytes, plan):
    """P - 1 buffers leave everyone one by one, and every buffer takes P - 1 hops one after the other."""
    return whole_ring_bound(cost, nbytes, world.ranks - 1)


def estimate(model, world, nbytes, plan):
    """Hop after hop, in each of which a piece is sent, and another awaited, before the next is."""
    pieces, size = plan.count_pieces(nbytes)
    piece, links = model.piece(size), model.crowd("global_E")
    if not links:
        return pieces * (piece.load + piece.store)
    flight = max(model.flight_ns(link, size) for link in links)
    hop = max(flight, piece.call + piece.load) + piece.take + piece.combine
    return pieces * ((world.ranks - 1) * hop + piece.load + piece.store)
