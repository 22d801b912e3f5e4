"""Broadcast along the ring of ranks, from the root both ways at once, piece after piece."""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    pass_on,
)
from kernbench.ccl import ring_neighbours as neighbours

COLLECTIVE = "broadcast"
EAST, WEST = "global_E", "global_W"


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan, whose root is the rank that has the buffer."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan(root=0)


def way(distance, world_size):
    """Where the buffer comes from (None: it is here) and goes to, so many ranks east of the root."""
    half = world_size // 2
    if distance == 0:
        return None, [EAST] * (world_size > 1) + [WEST] * (world_size > 2)
    if distance <= half:
        return WEST, [EAST] * (distance < half)
    return EAST, [WEST] * (distance - 1 > half)


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Take this PE's part from the side of the root and pass it on."""
    source, targets = way((rank - plan.root) % world_size, world_size)
    for piece in plan.cut(plan.part(tl, n_elem)):
        if source is None:
            pass_on(tl, targets, tl.load(t_ptr + piece.offset, piece.elements, plan.dtype) if targets else None)
        else:
            tensor = tl.recv(source, piece.elements, plan.dtype)
            pass_on(tl, targets, tensor)
            tl.store(t_ptr + piece.offset, tensor)


def bound(cost, world, nbytes, plan):
    """The last piece leaves the root after all others and goes half way round."""
    link, half = cost.best(EAST, WEST), world.ranks // 2
    return cost.stream_ns(link, nbytes) + (half - 1) * cost.trip_ns(link, nbytes) if half else 0.0
