"""All-reduce on two rings: the cubes of each SIP, then the same cube of all SIPs.

Every link carries little more than twice the buffer between cubes, and twice a cube's share of it between SIPs: the fewest
bytes there can be. The ring of cubes is long, so short buffers wait for its hops. Both rings go from neighbour to neighbour of
the grid, as far as it allows; cubes go round the SIPs on different ways, so that all links between them are in use.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Peer,
    Plan,
    Ring,
    cycle_axis,
    reduce_over,
)
from kernbench.dtypes import itemsize


def around(rank, lane, kind, ranks, sip_w, sip_h):
    """The ring of SIPs that a lane takes; where they are joined as a ring there are two ways around it."""
    if kind == SIP_TOPO_RING:
        return cycle_axis(rank, ranks, 1, lane % 2 * 2)
    return cycle_axis(rank, sip_w, sip_h, lane)


def neighbours(rank, cube, world):
    """East to the next cube of the SIP's ring, and to the same cube of the next SIP of the lane's ring."""
    found = {}
    if world.cubes > 1:
        within = cycle_axis(cube, world.cube_w, world.cube_h)
        found |= {"E": Peer(rank, within.after, "W"), "W": Peer(rank, within.before, "E")}
    if world.ranks > 1:
        between = around(rank, cube + world.lane, world.kind, world.ranks, world.sip_w, world.sip_h)
        found["global_E"] = Peer(between.after, cube, "global_W")
        found["global_W"] = Peer(between.before, cube, "global_E")
    return found


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    cube, lane = tl.program_id(axis=1), tl.program_id(axis=1) + tl.program_id(axis=0)
    within = cycle_axis(cube % (cube_w * cube_h), cube_w, cube_h)
    between = around(rank, lane, kind, world_size, sip_w, sip_h)
    both = ((within, "E", "W"), (between, "global_E", "global_W"))
    rings = [Ring(axis.length, axis.at, *ways) for axis, *ways in both if axis.length > 1]
    reduce_over(tl, plan, t_ptr, plan.part(tl, n_elem), rings)


def bound(cost, world, nbytes, plan):
    """A share takes cubes - 1 hops, its shares ranks - 1 between SIPs, and all that back; as many leave every PE one by one."""
    share = nbytes // world.cubes
    part = share // world.ranks
    around = [cost.link(0, cube, "E") for cube in range(world.cubes)] if world.cubes > 1 else []
    hops = sum_but_largest([cost.trip_ns(link, share) for link in around])
    between, sent = [], 0.0
    for cube in range(world.cubes):
        across = cost.links("global_E", [cube])
        between.append(sum_but_largest([cost.trip_ns(link, part) for link in across]))
        near = (world.cubes - 1) * cost.stream_ns(around[cube], share) if around else 0.0
        far = (world.ranks - 1) * max((cost.stream_ns(link, part) for link in across), default=0.0)
        sent = max(sent, near + far)
    few = nbytes // itemsize(plan.dtype) < world.cubes * world.ranks  # some shares are empty and are not sent
    return 2 * (hops + min(between)) if few else 2 * max(hops + max(between), sent)


def sum_but_largest(values):
    """The least that all but one of some hops of a ring take together."""
    return sum(values) - max(values, default=0.0)
