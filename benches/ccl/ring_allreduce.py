"""All-reduce on rings: the cubes of each SIP, then the same cube of all SIPs.

On a ring the buffer is shared out, and each share is summed on its way around; with the share it then has, every cube does
the same among the SIPs; then shares go around once more, and all have all. Every link carries little more than twice the buffer
between cubes, and twice a cube's share of it between SIPs: the fewest bytes there can be.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Message,
    Peer,
    Plan,
    circulate,
    turn,
)
from kernbench.dtypes import itemsize


class Ring(NamedTuple):
    """One ring of equals, and where in it this PE is."""

    count: int
    at: int
    east: str
    west: str


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
    for batch in plan.batches(plan.part(tl, n_elem)):
        reduce_over(tl, plan, t_ptr, batch, rings)


def reduce_over(tl, plan, t_ptr, part, rings):
    """Reduce a part of memory over the first ring's shares, those over the other rings, and gather them again."""
    if not rings:
        return
    ring, *others = rings
    shares = plan.share(part, ring.count)
    pieces = [plan.cut(share) for share in shares]
    scatter(tl, plan, t_ptr, pieces, ring)
    reduce_over(tl, plan, t_ptr, shares[(ring.at + 1) % ring.count], others)
    gather(tl, plan, t_ptr, pieces, ring)


def scatter(tl, plan, t_ptr, shares, ring):
    """Pass sums on until this PE stores that of the share after its own number."""
    sums = [tl.load(t_ptr + piece.offset, piece.elements, plan.dtype) for piece in shares[ring.at]]
    for step in range(ring.count - 1):
        passed, sums = sums, []
        for mine, piece in zip_longest(passed, shares[(ring.at - step - 1) % ring.count]):
            if mine is not None:
                tl.send(ring.east, mine)
                tl.release(mine)
            if piece is not None:
                own = tl.load(t_ptr + piece.offset, piece.elements, plan.dtype)
                sums.append(plan.combine(tl, own, tl.recv(ring.west, piece.elements, plan.dtype)))
    for piece, total in zip(shares[(ring.at + 1) % ring.count], sums, strict=True):
        tl.store(t_ptr + piece.offset, total)
        tl.release(total)


def gather(tl, plan, t_ptr, shares, ring):
    """Give the share that this PE has to all others, whose shares come by."""

    def pieces_of(distance):
        return shares[(ring.at + 1 - distance) % ring.count]

    def elements(i, distance):
        pieces = pieces_of(distance)
        return pieces[i].elements if i < len(pieces) else 0

    def bring(i):
        piece = pieces_of(0)[i]
        return tl.load(t_ptr + piece.offset, piece.elements, plan.dtype)

    def keep(i, distance, tensor):
        tl.store(t_ptr + pieces_of(distance)[i].offset, tensor)

    messages = [
        Message(i, ring.count - 1, lambda distance, i=i: elements(i, distance), lambda i=i: bring(i))
        for i in range(max(map(len, shares)))
    ]
    circulate(tl, messages, keep, dtype=plan.dtype, window=plan.window, forward=ring.east, backward=ring.west)


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


def sum_but_largest(values):
    """The least that all but one of some hops of a ring take together."""
    return sum(values) - max(values, default=0.0)
