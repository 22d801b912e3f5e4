"""All-reduce by hierarchy: to the root cube of each SIP, between the roots, and back.

Rows of cubes reduce towards the root's column from both sides, that column towards the root from both ends. The roots
exchange: on a ring each passes all that it gets, ranks - 1 rounds; on a torus along the rows, then along the columns; on a mesh
each row reduces to its first SIP and broadcasts back, then each column. Then all goes back the way it came.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Message,
    Plan,
    circulate,
    reduce_on_tree,
)


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """The root is the centre unless the plan says otherwise."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    cube = tl.program_id(axis=1) % (cube_w * cube_h)
    root = root_of(plan, cube_w, cube_h)
    towards, inwards = way(cube, root, cube_w, cube_h)
    depth = abs(cube % cube_w - root % cube_w) + abs(cube // cube_w - root // cube_w)

    def at_root(pieces, totals):
        exchange(tl, plan, pieces, totals, rank, kind, world_size, sip_w, sip_h)

    reduce_on_tree(tl, plan, t_ptr, plan.part(tl, n_elem), towards, inwards, depth, at_root)


def root_of(plan, cube_w, cube_h):
    """The root cube: where the plan names none, or one that takes no part, the centre."""
    if plan.root is not None and plan.root < cube_w * cube_h:
        return plan.root
    return cube_h // 2 * cube_w + cube_w // 2


def way(cube, root, cube_w, cube_h):
    """Where a cube's sum goes (None: it is the root), and from where terms come."""
    (y, x), (root_y, root_x) = divmod(cube, cube_w), divmod(root, cube_w)
    if x != root_x:
        beyond = x > 0 if x < root_x else x + 1 < cube_w
        return ("E", ["W"] * beyond) if x < root_x else ("W", ["E"] * beyond)
    inwards = ["W"] * (x > 0) + ["E"] * (x + 1 < cube_w)
    if y < root_y:
        return "S", inwards + ["N"] * (y > 0)
    if y > root_y:
        return "N", inwards + ["S"] * (y + 1 < cube_h)
    return None, inwards + ["N"] * (y > 0) + ["S"] * (y + 1 < cube_h)


def exchange(tl, plan, pieces, totals, rank, kind, world_size, sip_w, sip_h):
    """Reduce the totals of all roots, in place."""
    if kind == SIP_TOPO_RING:
        around(tl, plan, pieces, totals, world_size, "global_E", "global_W")
    elif kind == SIP_TOPO_TORUS:
        around(tl, plan, pieces, totals, sip_w, "global_E", "global_W")
        around(tl, plan, pieces, totals, sip_h, "global_S", "global_N")
    else:
        along(tl, plan, pieces, totals, rank % sip_w, sip_w, "global_E", "global_W")
        along(tl, plan, pieces, totals, rank // sip_w, sip_h, "global_S", "global_N")


def around(tl, plan, pieces, totals, count, forward, backward):
    """On a ring: every piece goes all the way round, and everyone adds it."""
    own = [
        Message(i, count - 1, lambda _, piece=piece: piece.elements, lambda tensor=tensor: tensor)
        for i, (piece, tensor) in enumerate(zip(pieces, totals, strict=True))
    ]

    def add(i, _distance, tensor):
        totals[i] = plan.combine(tl, totals[i], tensor)

    circulate(tl, own, add, dtype=plan.dtype, window=plan.window, forward=forward, backward=backward)


def along(tl, plan, pieces, totals, at, count, forward, backward):
    """On a chain: sums go to its first, and the result back."""
    for i, piece in enumerate(pieces):
        if at + 1 < count:
            totals[i] = plan.combine(tl, totals[i], tl.recv(forward, piece.elements, plan.dtype))
        if at:
            tl.send(backward, totals[i])
    for i, piece in enumerate(pieces):
        if at:
            tl.release(totals[i])
            totals[i] = tl.recv(backward, piece.elements, plan.dtype)
        if at + 1 < count:
            tl.send(forward, totals[i])


def bound(cost, world, nbytes, plan):
    """The farthest cube's first piece gets to the root; the root's one channel then sends all that it has to send.

    hops * trip_c + sends * stream_s + fan-out * stream_c, where a root sends the buffer ranks - 1 times on a ring, w + h - 2
    times on a torus, and on a mesh once for each dimension, whose results come back 2 (w + h - 2) trips later.
    """
    root = root_of(plan, world.cube_w, world.cube_h)
    root_y, root_x = divmod(root, world.cube_w)
    hops = max(root_x, world.cube_w - 1 - root_x) + max(root_y, world.cube_h - 1 - root_y)
    fan_out = len(way(root, root, world.cube_w, world.cube_h)[1])
    cube = cost.best("N", "E", "S", "W")
    sip = cost.best("global_N", "global_E", "global_S", "global_W", cubes=[root])
    within = hops * cube.alpha_ns + fan_out * cost.stream_ns(cube, nbytes)
    around, across = cost.stream_ns(sip, nbytes), cost.trip_ns(sip, nbytes)
    if world.kind == SIP_TOPO_RING:
        return within + (world.ranks - 1) * around
    steps = world.sip_w + world.sip_h - 2
    if world.kind == SIP_TOPO_TORUS:
        return within + steps * around
    return within + (around + (2 * steps - 1) * across if steps else 0)
