"""All-reduce on a ring: the buffer is shared out, each share is summed on its way around, then goes around once more.

The best there is for large buffers: every link carries 2 (P - 1) / P of the buffer, whatever the number P of participants.
"""

from __future__ import annotations

from itertools import zip_longest

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Message,
    Plan,
    circulate,
    level,
    position,
)
from kernbench.ccl import ring_neighbours as neighbours
from kernbench.dtypes import itemsize


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    part, count = plan.part(tl, n_elem), world_size * cube_w * cube_h
    if not part.elements or count == 1:
        return
    at = position(rank, tl.program_id(axis=1), cube_w, cube_h)
    east, west = (level(cube_w * cube_h) + side for side in "EW")
    for batch in plan.batches(part):
        shares = [plan.cut(share) for share in plan.share(batch, count)]
        totals = reduce_shares(tl, plan, t_ptr, shares, at, east, west)
        pass_around(tl, plan, t_ptr, shares, totals, at, east, west)


def pass_around(tl, plan, t_ptr, shares, totals, at, east, west):
    """Store the sums of this PE's share and give them to all others, whose shares come by."""
    count = len(shares)
    for piece, total in zip(shares[(at + 1) % count], totals, strict=True):
        tl.store(t_ptr + piece.offset, total)

    def pieces_of(distance):
        return shares[(at + 1 - distance) % count]

    def elements(i, distance):
        pieces = pieces_of(distance)
        return pieces[i].elements if i < len(pieces) else 0

    messages = [
        Message(i, count - 1, lambda distance, i=i: elements(i, distance), lambda i=i: totals[i])
        for i in range(max(map(len, shares)))
    ]

    def keep(i, distance, tensor):
        tl.store(t_ptr + pieces_of(distance)[i].offset, tensor)

    circulate(tl, messages, keep, dtype=plan.dtype, window=plan.window, forward=east, backward=west)
    for total in totals:
        tl.release(total)


def reduce_shares(tl, plan, t_ptr, shares, at, east, west):
    """Pass sums on until this PE has that of the share after its own number; returns its pieces."""
    count = len(shares)
    sums = [tl.load(t_ptr + piece.offset, piece.elements, plan.dtype) for piece in shares[at]]
    for step in range(count - 1):
        passed, sums = sums, []
        for mine, piece in zip_longest(passed, shares[(at - step - 1) % count]):
            if mine is not None:
                tl.send(east, mine)
                tl.release(mine)
            if piece is not None:
                own = tl.load(t_ptr + piece.offset, piece.elements, plan.dtype)
                sums.append(plan.combine(tl, own, tl.recv(west, piece.elements, plan.dtype)))
    return sums


def bound(cost, world, nbytes, plan):
    """Every share takes 2 (P - 1) hops one after the other, and all but one that are not empty leave everyone twice."""
    links = cost.links(f"{level(world.cubes)}E")
    count = len(links)
    if count < 2:
        return 0.0
    share = nbytes // count
    hops = [cost.trip_ns(link, share) for link in links]
    sent = min(count, nbytes // itemsize(plan.dtype)) - 1
    return max(2 * (sum(hops) - max(hops)), 2 * sent * max(cost.stream_ns(link, share) for link in links))
