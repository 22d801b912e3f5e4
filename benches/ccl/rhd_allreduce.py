"""All-reduce by recursive halving and doubling: log2 P exchanges in which partners share the rest, then as many back.

The nearest exchange the most: partners first differ in the lowest bit of their position, so that between SIPs only what is left
after the cubes is exchanged. Where P is no power of two, the first ones fold: each even one gives all it has to the next and
gets the result from it.
"""

from __future__ import annotations

from itertools import zip_longest

from kernbench import InputError
from kernbench.ccl import (
    SIP_TOPO_MESH,
    SIP_TOPO_RING,
    SIP_TOPO_TORUS,
    TOPO_NAME_TO_KIND,
    Plan,
    peer_at,
    position,
)

NAMES = tuple(level + side for level in ("", "global_", "intra_") for side in "EWNS")  # of the partners, nearest first
FOLD = NAMES[-1]
MOST = 2 ** (len(NAMES) - 1)


def rounds_of(count):
    """log2 of the largest power of two among so many, and how many are beyond it."""
    if count >= 2 * MOST:
        raise InputError(f"recursive halving-doubling got {count} participants; a PE has directions for {2 * MOST - 1}")
    rounds = count.bit_length() - 1
    return rounds, count - 2**rounds


def number_of(at, extra):
    """The number of a participant among the powers of two; None for one that folds."""
    if at >= 2 * extra:
        return at - extra
    return at // 2 if at % 2 else None


def at_of(number, extra):
    """The position of a number."""
    return 2 * number + 1 if number < extra else number + extra


def neighbours(rank, cube, world):
    """The partner of each round, and the one with whom to fold."""
    at = position(rank, cube, world.cube_w, world.cube_h)
    rounds, extra = rounds_of(world.ranks * world.cubes)
    number = number_of(at, extra)
    found = {FOLD: peer_at(at ^ 1, world, FOLD)} if at < 2 * extra else {}
    if number is not None:
        for k in range(rounds):
            found[NAMES[k]] = peer_at(at_of(number ^ 1 << k, extra), world, NAMES[k])
    return found


def kernel_args(world_size, n_elem, *, cube_w=4, cube_h=4, plan=None):
    """Nothing beyond the plan."""
    return n_elem, cube_w, cube_h, world_size, plan or Plan()


def kernel(t_ptr, n_elem, cube_w, cube_h, world_size, plan, rank, kind, sip_w, sip_h, *, tl):
    """Reduce this PE's part with those of its fellows. Sums wait in memory for the round that needs them."""
    part = plan.part(tl, n_elem)
    if not part.elements:
        return
    at = position(rank, tl.program_id(axis=1), cube_w, cube_h)
    rounds, extra = rounds_of(world_size * cube_w * cube_h)
    number = number_of(at, extra)
    buffer = Buffer(tl, plan, t_ptr)
    nothing = part._replace(elements=0)
    if number is None:
        buffer.swap(FOLD, part, nothing)
        buffer.swap(FOLD, nothing, part)
        return
    if at < 2 * extra:
        buffer.swap(FOLD, nothing, part, add=True)
    ranges = [part]
    for k in range(rounds):
        low, high = plan.share(ranges[-1], 2)
        kept, given = (high, low) if number >> k & 1 else (low, high)
        buffer.swap(NAMES[k], given, kept, add=True)
        ranges.append(kept)
    for k in reversed(range(rounds)):
        low, high = plan.share(ranges[k], 2)
        buffer.swap(NAMES[k], ranges[k + 1], low if number >> k & 1 else high)
    if at < 2 * extra:
        buffer.swap(FOLD, part, nothing)


class Buffer:
    """This PE's part in memory."""

    def __init__(self, tl, plan, ptr):
        self.tl, self.plan, self.ptr = tl, plan, ptr

    def swap(self, direction, out, into, add=False):
        """Send one range and receive another, to add to it or to replace it."""
        tl, plan = self.tl, self.plan
        for mine, theirs in zip_longest(plan.cut(out), plan.cut(into)):
            if mine is not None:
                tl.send(direction, tl.load(self.ptr + mine.offset, mine.elements, plan.dtype))
            if theirs is not None:
                tensor = tl.recv(direction, theirs.elements, plan.dtype)
                if add:
                    own = tl.load(self.ptr + theirs.offset, theirs.elements, plan.dtype)
                    tensor = plan.combine(tl, own, tensor)
                tl.store(self.ptr + theirs.offset, tensor)
                tl.release(tensor)


def bound(cost, world, nbytes, plan):
    """Every exchange one after the other, there and back: 2 * stream(n / 2^(k + 1)) of its partners; and the folds."""
    rounds, extra = rounds_of(world.ranks * world.cubes)
    total = sum(2 * cost.stream_ns(cost.best(NAMES[k]), nbytes // 2 ** (k + 1)) for k in range(rounds))
    return total + (2 * cost.stream_ns(cost.best(FOLD), nbytes) if extra else 0)
