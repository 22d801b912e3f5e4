"""All-reduce on rings in every dimension: the rows of cubes of each SIP, their columns, the rows of SIPs, the columns of SIPs.

Every PE sends as many bytes as on one ring of all, in far fewer hops: w - 1 + h - 1 between cubes instead of w * h - 1. Rows
reduce first, so that columns and SIPs exchange shares of shares. Where SIPs are joined as a ring they make one row. Some cubes
begin with the rows of SIPs, some with the columns, and some go backwards: all links between SIPs are in use at a time.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Axis,
    Peer,
    Plan,
    Ring,
    grid_axes,
    reduce_over,
)
from kernbench.dtypes import itemsize

BETWEEN = (("global_E", "global_W"), ("global_S", "global_N"))  # of the first ring of a lane, and of the second
LEVELS = (("E", "W"), ("S", "N"), *BETWEEN)  # forward and backward of each ring


def cube_axes(cube, cube_w, cube_h):
    """The row and the column of a cube, as rings."""
    x, y = cube % cube_w, cube // cube_w
    return [
        Axis(cube_w, x, y * cube_w + (x + 1) % cube_w, y * cube_w + (x - 1) % cube_w),
        Axis(cube_h, y, (y + 1) % cube_h * cube_w + x, (y - 1) % cube_h * cube_w + x),
    ]


def neighbours(rank, cube, world):
    """Forward and backward on every ring that has more than one member."""
    found = {}
    for axis, (forward, backward) in zip(cube_axes(cube, world.cube_w, world.cube_h), LEVELS, strict=False):
        if axis.length > 1:
            found |= {forward: Peer(rank, axis.after, backward), backward: Peer(rank, axis.before, forward)}
    axes = grid_axes(rank, cube + world.lane, world.kind, world.sip_w, world.sip_h)
    for axis, (forward, backward) in zip(axes, BETWEEN, strict=False):
        found |= {forward: Peer(axis.after, cube, backward), backward: Peer(axis.before, cube, forward)}
    return found


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    cube, lane = tl.program_id(axis=1), tl.program_id(axis=1) + tl.program_id(axis=0)
    within = zip(cube_axes(cube % (cube_w * cube_h), cube_w, cube_h), LEVELS, strict=False)
    between = zip(grid_axes(rank, lane, kind, sip_w, sip_h), BETWEEN, strict=False)
    rings = [Ring(axis.length, axis.at, *ways) for axis, ways in (*within, *between) if axis.length > 1]
    reduce_over(tl, plan, t_ptr, plan.part(tl, n_elem), rings)


def bound(cost, world, nbytes, plan):
    """A share takes count - 1 hops on every ring and as many back; as many shares leave every PE one by one."""
    part, hops, sent = nbytes, 0.0, 0.0
    within = zip(cube_axes(0, world.cube_w, world.cube_h), LEVELS, strict=False)
    between = zip(grid_axes(0, 0, world.kind, world.sip_w, world.sip_h), BETWEEN, strict=False)
    for axis, (forward, _) in (*within, *between):
        part //= axis.length
        if axis.length > 1:
            link = cost.best(forward)
            hops += (axis.length - 1) * cost.trip_ns(link, part)
            sent += (axis.length - 1) * cost.stream_ns(link, part)
    few = nbytes // itemsize(plan.dtype) < world.ranks * world.cubes  # some shares are empty and are not sent
    return 2 * hops if few else 2 * max(hops, sent)
