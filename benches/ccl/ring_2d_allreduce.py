"""All-reduce on rings in every dimension: the rows of cubes of each SIP, their columns, the rows of SIPs, the columns of SIPs.

Every PE sends as many bytes as on one ring of all, in far fewer hops: w - 1 + h - 1 between cubes instead of w * h - 1. Rows
reduce first, so that columns and SIPs exchange shares of shares. Where SIPs are joined as a ring they make one row.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Dimension,
    Peer,
    Plan,
    Ring,
    estimate_rings,
    reduce_over,
)
from kernbench.dtypes import itemsize

LEVELS = (
    ("E", "W"),
    ("S", "N"),
    ("global_E", "global_W"),
    ("global_S", "global_N"),
)  # forward and backward of each ring


def sides(world):
    """The length of a ring of each level."""
    grid = (world.ranks, 1) if world.kind == SIP_TOPO_RING else (world.sip_w, world.sip_h)
    return (world.cube_w, world.cube_h, *grid)


def neighbours(rank, cube, world):
    """Forward and backward on every ring that has more than one member."""
    lengths, found = sides(world), {}
    at = place(rank, cube, lengths)
    for level, (count, (forward, backward)) in enumerate(zip(lengths, LEVELS, strict=True)):
        if count > 1:
            for side, back, step in ((forward, backward, 1), (backward, forward, -1)):
                there = list(at)
                there[level] = (at[level] + step) % count
                found[side] = Peer(there[2] + lengths[2] * there[3], there[0] + lengths[0] * there[1], back)
    return found


def place(rank, cube, lengths):
    """Where a participant is in each of its rings."""
    return cube % lengths[0], cube // lengths[0], rank % lengths[2], rank // lengths[2]


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    grid = (world_size, 1) if kind == SIP_TOPO_RING else (sip_w, sip_h)
    lengths = (cube_w, cube_h, *grid)
    at = place(rank, tl.program_id(axis=1) % (cube_w * cube_h), lengths)
    rings = [Ring(count, i, *ways) for count, i, ways in zip(lengths, at, LEVELS, strict=True) if count > 1]
    reduce_over(tl, plan, t_ptr, plan.part(tl, n_elem), rings)


def bound(cost, world, nbytes, plan):
    """A share takes count - 1 hops on every ring and as many back; as many shares leave every PE one by one."""
    part, hops, sent = nbytes, 0.0, 0.0
    for count, (forward, _) in zip(sides(world), LEVELS, strict=True):
        part //= count
        if count > 1:
            link = cost.best(forward)
            hops += (count - 1) * cost.trip_ns(link, part)
            sent += (count - 1) * cost.stream_ns(link, part)
    few = nbytes // itemsize(plan.dtype) < world.ranks * world.cubes  # some shares are empty and are not sent
    return 2 * hops if few else 2 * max(hops, sent)


def estimate(model, world, nbytes, plan):
    """The circulations of all rings."""
    ways = zip(sides(world), LEVELS, strict=True)
    return estimate_rings(model, nbytes, plan, [Dimension(count, forward) for count, (forward, _) in ways])
