"""All-reduce on binary trees: the cubes of each SIP, then the SIPs; sums go up and the result comes down, piece after piece.

The fewest steps, twice log2 of the cubes and of the SIPs; every link carries the whole buffer twice.
"""

from __future__ import annotations

from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    reduce_on_tree,
    tree_around,
    turn,
)
from kernbench.ccl import tree_neighbours as neighbours


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows."""
    cubes = cube_w * cube_h
    if cubes * world_size == 1:
        return
    at = turn(tl.program_id(axis=1) % cubes, cube_w)
    parent, children = way(rank, at, world_size, cubes)
    depth = (at + 1).bit_length() + (rank + 1).bit_length() - 2
    reduce_on_tree(tl, plan, t_ptr, plan.part(tl, n_elem), parent, children, depth)


def way(rank, at, world_size, cubes):
    """Where sums of the cube at a position go (None: it is the root of all), and from where terms come."""
    sides = list(tree_around(at, cubes))
    if at == 0:
        sides += [f"global_{side}" for side in tree_around(rank, world_size)]
    parent = next((side for side in sides if side.endswith("N")), None)
    return parent, [side for side in sides if side != parent]


def bound(cost, world, nbytes, plan):
    """The first piece goes up all levels; then the root's one channel sends the buffer to each of its children."""
    total = 0.0
    for count, level in ((world.cubes, ""), (world.ranks, "global_")):
        down = cost.best(f"{level}W", f"{level}E")
        total += (count.bit_length() - 1) * cost.best(f"{level}N").alpha_ns
        total += min(count - 1, 2) * cost.stream_ns(down, nbytes)
    return total
