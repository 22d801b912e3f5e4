"""A reduction on a tree of PEs: sums go up to its root, and results come back down.

Sums that do not fit the scratch go in batches; those of a batch go up while the results of the one before come down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from kernbench.ccl.plan import Part, Plan
from kernbench.ccl.ring import pass_on

AtRoot = Callable[[Sequence[Part], list[Any]], None]  # changes the totals of a batch's pieces, in place


def reduce_on_tree(
    tl: Any,
    plan: Plan,
    t_ptr: int,
    part: Part,
    parent: str | None,
    children: Sequence[str],
    depth: int,
    at_root: AtRoot | None = None,
) -> None:
    """Reduce a part of this PE with those of all others of the tree, in place; the root has no parent, and `depth` 0.

    `at_root` is what the root does with the totals of each batch before they go down.
    """
    batches = [plan.cut(batch) for batch in plan.batches(part)]
    results: list[Any] = []  # of the root
    for before, pieces in pairwise([[], *batches, []]):
        totals: list[Any] = []
        for piece, result in _turns(pieces, before, plan.window, depth):
            if piece is not None:
                totals.append(_gather(tl, plan, t_ptr, piece, parent, children))
            if result is not None:
                total = tl.recv(parent, result.elements, plan.dtype) if parent else results.pop(0)
                pass_on(tl, children, total)
                tl.store(t_ptr + result.offset, total)
                tl.release(total)
        if parent is None:
            if at_root is not None:
                at_root(pieces, totals)
            results = totals


def _turns(
    pieces: Sequence[Part], before: Sequence[Part], window: int, depth: int
) -> Iterator[tuple[Part | None, Part | None]]:
    """What a PE does in turn: the sum of a piece of a batch, and the result of one of the batch before.

    On each level below the root, sums lead by one piece less than a queue has slots: as many are under way to the PE above
    while it waits for a result.
    """
    lead = min(depth * (window - 1), len(pieces)) if before else 0
    return zip_longest(pieces, [None] * lead + list(before))


def _gather(tl: Any, plan: Plan, t_ptr: int, piece: Part, parent: str | None, children: Sequence[str]) -> Any:
    """Add what comes up to this PE's piece and send the sum on; the root keeps it."""
    total = tl.load(t_ptr + piece.offset, piece.elements, plan.dtype)
    for child in children:
        total = plan.combine(tl, total, tl.recv(child, piece.elements, plan.dtype))
    if parent:
        tl.send(parent, total)
        tl.release(total)
    return total
