"""All-reduce on nested rings: reduce-scatter on each, from the first to the last, and all-gather back.

On a ring the buffer is shared out, and each share is summed on its way around. With the share that it then has, every PE does
the same on the next ring; then shares go around once more, and all have all. A share travels in pieces, of which a queue's
slots are under way at a time: a sum goes on as soon as it is made, while the pieces after it arrive.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from kernbench.ccl.plan import Part, Plan
from kernbench.ccl.ring import Message, circulate


class Ring(NamedTuple):
    """One ring of `length` equals, and where in it this PE is."""

    length: int
    at: int
    forward: str
    backward: str


def reduce_over(tl: Any, plan: Plan, ptr: int, part: Part, rings: Sequence[Ring]) -> None:
    """Reduce a part of memory over the participants of all rings, in batches whose shares fit the scratch of a PE."""
    if rings:
        for batch in plan.batches(part, rings[0].length):
            _reduce_batch(tl, plan, ptr, batch, rings)


def _reduce_batch(tl: Any, plan: Plan, ptr: int, part: Part, rings: Sequence[Ring]) -> None:
    """Reduce over the first ring's shares, those over the other rings, and gather them again."""
    if not rings:
        return
    ring, *others = rings
    shares = plan.share(part, ring.length)
    pieces = [plan.cut(share) for share in shares]

    def load(_: int, piece: Part) -> Any:
        return tl.load(ptr + piece.offset, piece.elements, plan.dtype)

    def keep(piece: Part, total: Any) -> None:
        tl.store(ptr + piece.offset, total)

    pass_sums(tl, plan, ring, pieces, load, keep)
    _reduce_batch(tl, plan, ptr, shares[(ring.at + 1) % ring.length], others)
    _gather(tl, plan, ptr, pieces, ring)


def pass_sums(
    tl: Any,
    plan: Plan,
    ring: Ring,
    shares: Sequence[Sequence[Part]],
    load: Callable[[int, Part], Any],
    keep: Callable[[Part, Any], None],
) -> None:
    """Pass sums on around a ring until this PE keeps that of the share after its own number.

    `shares` are the pieces of each share, `load(share, piece)` returns this PE's term and `keep(piece, total)` stores a sum. A
    PE sends pieces of its own share ahead, then one piece for each that it receives: so none waits for a slot that its
    neighbour cannot free.
    """
    own, sums = deque(shares[ring.at]), deque[Any]()  # what is to be sent, in this order

    def send_next() -> None:
        if own or sums:
            tensor = load(ring.at, own.popleft()) if own else sums.popleft()
            tl.send(ring.forward, tensor)
            tl.release(tensor)

    for _ in range(_ahead(plan)):
        if own:
            send_next()
    for step in range(1, ring.length):
        share = (ring.at - step) % ring.length
        for piece in shares[share]:
            mine = load(share, piece)
            total = plan.combine(tl, mine, tl.recv(ring.backward, piece.elements, plan.dtype))
            if step < ring.length - 1:
                sums.append(total)
            else:
                keep(piece, total)
                tl.release(total)
            send_next()
    while own or sums:
        send_next()


def _gather(tl: Any, plan: Plan, ptr: int, shares: Sequence[Sequence[Part]], ring: Ring) -> None:
    """Give the share that this PE has to all others, whose shares come by."""

    def pieces_of(distance: int) -> Sequence[Part]:
        return shares[(ring.at + 1 - distance) % ring.length]

    def elements(i: int, distance: int) -> int:
        pieces = pieces_of(distance)
        return pieces[i].elements if i < len(pieces) else 0

    def bring(i: int) -> Any:
        piece = pieces_of(0)[i]
        return tl.load(ptr + piece.offset, piece.elements, plan.dtype)

    def keep(i: int, distance: int, tensor: Any) -> None:
        tl.store(ptr + pieces_of(distance)[i].offset, tensor)

    messages = [
        Message(i, ring.length - 1, partial(elements, i), partial(bring, i)) for i in range(max(map(len, shares)))
    ]
    circulate(tl, messages, keep, dtype=plan.dtype, window=_ahead(plan), forward=ring.forward, backward=ring.backward)


def _ahead(plan: Plan) -> int:
    """Pieces that a PE sends ahead: one less than there are slots, so that a credit is back by the time it is needed."""
    return max(plan.window - 1, 1)
