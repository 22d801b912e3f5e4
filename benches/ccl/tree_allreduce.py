"""All-reduce on a binary tree: sums go up to its root and the result comes down, piece after piece.

The fewest steps, 2 log2 P; every link carries the whole buffer twice.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    level,
    pass_on,
    position,
)
from kernbench.ccl import tree_neighbours as neighbours


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    part, count = plan.part(tl, n_elem), world_size * cube_w * cube_h
    if not part.elements or count == 1:
        return
    at = position(rank, tl.program_id(axis=1), cube_w, cube_h)
    north, west, east = (level(cube_w * cube_h) + side for side in "NWE")
    children = [side for side, child in ((west, 2 * at + 1), (east, 2 * at + 2)) if child < count]
    for batch in plan.batches(part):
        reduce_batch(tl, plan, t_ptr, plan.cut(batch), north if at else None, children)


def reduce_batch(tl, plan, t_ptr, pieces, north, children):
    """Up the tree, then down; the root has no north."""
    totals = []
    for piece in pieces:
        total = tl.load(t_ptr + piece.offset, piece.elements, plan.dtype)
        for child in children:
            total = plan.combine(tl, total, tl.recv(child, piece.elements, plan.dtype))
        if north:
            tl.send(north, total)
            tl.release(total)
        else:
            totals.append(total)
    for i, piece in enumerate(pieces):
        total = tl.recv(north, piece.elements, plan.dtype) if north else totals[i]
        pass_on(tl, children, total)
        tl.store(t_ptr + piece.offset, total)
        tl.release(total)


def bound(cost, world, nbytes, plan):
    """The last piece leaves a leaf after all others and goes up and down; who has children sends twice, or thrice."""
    count = world.ranks * world.cubes
    if count < 2:
        return 0.0
    north = cost.best(f"{level(world.cubes)}N")
    down = cost.best(f"{level(world.cubes)}W", f"{level(world.cubes)}E")
    depth = count.bit_length() - 1
    path = (
        cost.stream_ns(north, nbytes) + (depth - 1) * cost.trip_ns(north, nbytes) + depth * cost.trip_ns(down, nbytes)
    )
    inner = cost.stream_ns(north, nbytes) + 2 * cost.stream_ns(down, nbytes)
    return max(path, inner if count > 4 else 0)
