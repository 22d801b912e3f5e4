"""All-reduce on two rings: the cubes of each SIP, then the same cube of all SIPs.

Every link carries little more than twice the buffer between cubes, and twice a cube's share of it between SIPs: the fewest
bytes there can be. The ring of cubes is long, so short buffers wait for its hops.
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
    turn,
)
from kernbench.dtypes import itemsize


def neighbours(rank, cube, world):
    """East to the next cube of the SIP's line, closed to a ring, and to the same cube of the next SIP."""
    found = {}
    if world.cubes > 1:
        at = turn(cube, world.cube_w)
        for side, back, step in (("E", "W", 1), ("W", "E", -1)):
            found[side] = Peer(rank, turn((at + step) % world.cubes, world.cube_w), back)
    if world.ranks > 1:
        for side, back, step in (("E", "W", 1), ("W", "E", -1)):
            found[f"global_{side}"] = Peer((rank + step) % world.ranks, cube, f"global_{back}")
    return found


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    cubes = cube_w * cube_h
    rings = [Ring(cubes, turn(tl.program_id(axis=1) % cubes, cube_w), "E", "W")] if cubes > 1 else []
    rings += [Ring(world_size, rank, "global_E", "global_W")] if world_size > 1 else []
    reduce_over(tl, plan, t_ptr, plan.part(tl, n_elem), rings)


def bound(cost, world, nbytes, plan):
    """A share takes cubes - 1 hops, its shares ranks - 1 between SIPs, and all that back; as many leave every PE one by one."""
    share = nbytes // world.cubes
    part = share // world.ranks
    around = [cost.link(0, cube, "E") for cube in range(world.cubes)] if world.cubes > 1 else []
    hops = sum_but_largest([cost.trip_ns(link, share) for link in around])
    between = sent = 0.0
    for cube in range(world.cubes):
        across = cost.links("global_E", [cube])
        between = max(between, sum_but_largest([cost.trip_ns(link, part) for link in across]))
        near = (world.cubes - 1) * cost.stream_ns(around[cube], share) if around else 0.0
        far = (world.ranks - 1) * max((cost.stream_ns(link, part) for link in across), default=0.0)
        sent = max(sent, near + far)
    few = nbytes // itemsize(plan.dtype) < world.cubes * world.ranks  # some shares are empty and are not sent
    return 2 * (hops + between) if few else 2 * max(hops + between, sent)


def estimate(model, world, nbytes, plan):
    """The circulations of the ring of cubes and of the ring of SIPs."""
    return estimate_rings(model, nbytes, plan, [Dimension(world.cubes, "E"), Dimension(world.ranks, "global_E")])


def sum_but_largest(values):
    """The least that all but one of some hops of a ring take together."""
    return sum(values) - max(values, default=0.0)
