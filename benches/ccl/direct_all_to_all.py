"""All-to-all without relays: every rank sends to all others itself, over a queue to each, in turn from the next rank on.

Each pair has slots of its own, so no rank waits for what is meant for another. At any time everyone sends to another rank and
nobody gets from two, as long as all keep step.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Peer,
    Plan,
)

COLLECTIVE = "all_to_all"


def neighbours(rank, cube, world):
    """The rank that is so many ranks ahead, of all others."""
    count = world.ranks
    return {f"ahead_{k}": Peer((rank + k) % count, cube, f"ahead_{count - k}") for k in range(1, count)}


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(out_ptrs, in_ptrs, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Put this PE's part of `in_ptrs[r]` into the same place of rank r's `out_ptrs[rank]`."""
    pieces = plan.cut(plan.part(tl, n_elem))

    def bring(ahead, piece):
        return tl.load(in_ptrs[(rank + ahead) % world_size] + piece.offset, piece.elements, plan.dtype)

    def keep(behind, piece, tensor):
        tl.store(out_ptrs[(rank - behind) % world_size] + piece.offset, tensor)

    for piece in pieces:
        tensor = bring(0, piece)
        keep(0, piece, tensor)
        tl.release(tensor)
    lead = min(plan.window - 1, len(pieces))  # pieces that are sent to everyone before the first is taken
    for i in range(len(pieces) + lead):
        for ahead in range(1, world_size) if i < len(pieces) else ():
            tensor = bring(ahead, pieces[i])
            tl.send(f"ahead_{ahead}", tensor)
            tl.release(tensor)
        for behind in range(1, world_size) if i >= lead else ():
            piece = pieces[i - lead]
            keep(behind, piece, tl.recv(f"ahead_{world_size - behind}", piece.elements, plan.dtype))


def bound(cost, world, nbytes, plan):
    """P - 1 buffers leave everyone one by one."""
    return sum(cost.stream_ns(cost.best(f"ahead_{k}"), nbytes) for k in range(1, world.ranks))
