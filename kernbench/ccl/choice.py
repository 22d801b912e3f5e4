"""The choice of an algorithm, and of the size of its pieces, by their estimated times on the machine.

`algorithm: auto` takes the algorithm whose estimate is least, among those that KernBench ships for the collective. An algorithm
that is named is the only one. Where the size of the slots is given, so is that of the pieces; else it is a power of two up
to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kernbench.dtypes import itemsize

if TYPE_CHECKING:
    from kernbench.ccl.module import Algorithm
    from kernbench.ccl.plan import Plan
    from kernbench.ccl.time_model import TimeModel
    from kernbench.ccl.wiring import World

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


class Choice(NamedTuple):
    """An algorithm, the elements of its pieces, and its estimated time (ns), None where nothing was to choose."""

    algorithm: Algorithm
    chunk: int
    estimate_ns: float | None


def choose(
    algorithms: Sequence[Algorithm],
    model_of: Callable[[Algorithm], TimeModel],
    world: World,
    nbytes: int,
    plan: Plan,
    *,
    fixed: bool,
) -> Choice:
    """The quickest of some algorithms for parts of `nbytes`; the chunk of `plan` is the largest there can be, or the only one.

    An algorithm without an estimate is taken only if it is the only one. Where nothing is to choose, nothing is estimated:
    such a run looks at no figure of the machine, and a sweep may share its program.
    """
    best = Choice(algorithms[0], plan.chunk, None)
    if len(algorithms) == 1 and fixed:
        return best
    for algorithm in algorithms:
        if algorithm.estimate is None:
            continue
        model = model_of(algorithm)
        found = choose_chunk(partial(_estimate, algorithm, model, world, nbytes), nbytes, plan, fixed=fixed)
        if found.estimate_ns is not None and (best.estimate_ns is None or found.estimate_ns < best.estimate_ns):
            best = Choice(algorithm, *found)
    return best


def _estimate(algorithm: Algorithm, model: TimeModel, world: World, nbytes: int, plan: Plan) -> float | None:
    assert algorithm.estimate is not None
    return algorithm.estimate(model, world, nbytes, plan)


class Chunk(NamedTuple):
    """The elements of a piece, and the estimated time (ns) with them."""

    elements: int
    estimate_ns: float | None


def choose_chunk(estimate: Callable[[Plan], float | None], nbytes: int, plan: Plan, *, fixed: bool) -> Chunk:
    """The size of pieces with the least estimate, and of equals the largest; that of the plan if it is fixed."""
    best = Chunk(plan.chunk, None)
    for chunk in [plan.chunk] if fixed else _chunks(plan, nbytes):
        found = estimate(replace(plan, chunk=chunk))
        if found is not None and (best.estimate_ns is None or found < best.estimate_ns):
            best = Chunk(chunk, float(found))
    return best


def _chunks(plan: Plan, nbytes: int) -> Iterator[int]:
    """The numbers of elements of a piece that are tried, the largest first: what a slot holds, and halves of it."""
    size, chunk = itemsize(plan.dtype), plan.chunk
    yield chunk
    while chunk % 2 == 0 and chunk // 2 * size >= LEAST_PIECE:
        chunk //= 2
        if chunk * size < 2 * nbytes:
            yield chunk
