"""The choice of an algorithm, and of the size of its pieces, by their estimated times on the machine.

`algorithm: auto` takes the algorithm whose estimate is least, among those that KernBench ships for the collective. An algorithm
that is named is the only one. Where the size of the slots is given, so is that of the pieces; else it is a power of two up
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from kernbench.ccl.plan import Plan
from kernbench.dtypes import itemsize

if TYPE_CHECKING:
    from kernbench.ccl.module import Algorithm
    from kernbench.ccl.rehearsal import Outcome

AUTO = "auto"
SHIPPED = {  # the modules among which `auto` chooses; of equals the first
    "all_reduce": (
        "lrab_hierarchical_allreduce",
        "tree_allreduce",
        "rhd_allreduce",
        "ring_2d_allreduce",
        "ring_allreduce",
    ),
    "all_gather": ("ring_all_gather",),
    "reduce_scatter": ("ring_reduce_scatter",),
    "broadcast": ("ring_broadcast",),
    "reduce": ("ring_reduce",),
    "all_to_all": ("direct_all_to_all", "ring_all_to_all"),
    "barrier": ("tree_barrier",),
}
LEAST_PIECE = 256  # bytes; smaller ones are not tried
GIVE_UP = 1.25  # times the best estimate so far, from which smaller pieces are not tried


class Choice(NamedTuple):
    """An algorithm, the elements of its pieces, and its estimated time (ns), None where nothing was to choose."""

    algorithm: Algorithm
    chunk: int
    estimate_ns: float | None


Estimate = Callable[[Plan], "Outcome | None"]  # what an algorithm takes about with a plan; None where it cannot be said


class Candidate(NamedTuple):
    """An algorithm, the plan with the largest pieces that there can be (or the only ones), and the estimate of its time.

    `bound` returns the time (ns) that it cannot take less than.
    """

    algorithm: Algorithm
    plan: Plan
    estimate: Estimate
    bound: Callable[[], float]


def choose(candidates: Sequence[Candidate], *, fixed: bool) -> Choice:
    """The quickest of some algorithms, with its best pieces, and of equals the first.

    An algorithm without an estimate is taken only if it is the only one, and one whose bound is above the best estimate so far
    is not estimated. Where nothing is to choose, nothing is estimated: such a run looks at no figure of the machine, and a
    sweep may share its program.
    """
    best = Choice(candidates[0].algorithm, candidates[0].plan.chunk, None)
    if len(candidates) == 1 and fixed:
        return best
    bounds = [one.bound() if len(candidates) > 1 else 0.0 for one in candidates]
    chunks, times = dict[int, int](), dict[int, float]()
    for i in sorted(range(len(candidates)), key=bounds.__getitem__):
        if bounds[i] <= min(times.values(), default=inf):
            chunk, ns = choose_chunk(candidates[i].estimate, candidates[i].plan, fixed=fixed)
            if ns is not None:
                chunks[i], times[i] = chunk, ns
    if not times:
        return best
    quickest = min(sorted(times), key=times.__getitem__)
    return Choice(candidates[quickest].algorithm, chunks[quickest], times[quickest])


class Chunk(NamedTuple):
    """The elements of a piece, and the estimated time (ns) with them."""

    elements: int
    estimate_ns: float | None


def choose_chunk(estimate: Estimate, plan: Plan, *, fixed: bool) -> Chunk:
    """The size of pieces with the least estimate, and of equals the largest; that of the plan if it is fixed.

    What a slot holds is tried first, then halves of it that cut the largest message, until they are far from the best.
    """
    size, chunk, best, least = itemsize(plan.dtype), plan.chunk, Chunk(plan.chunk, None), inf
    while True:
        found = estimate(replace(plan, chunk=chunk))
        if found is None:
            return best
        if found.ns < least:
            best, least = Chunk(chunk, found.ns), found.ns
        while chunk % 2 == 0 and chunk * size >= found.largest:
            chunk //= 2
        if fixed or chunk * size < LEAST_PIECE or chunk * size >= found.largest or found.ns > GIVE_UP * least:
            return best
