"""The weights of chosen experts, from the logits of a router."""

from __future__ import annotations

from typing import Any, NamedTuple

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES, rows_in_cube
from kernbench.workloads.kernels.results import narrow


class Choice(NamedTuple):
    """How a router weighs the experts that are chosen. Pointers: f32, in each cube."""

    experts: int
    tokens: int
    places: int  # of routed experts
    chosen_ptr: int  # (experts, tokens): 1 where a token takes an expert
    experts_ptr: int  # (places, 1)
    tokens_ptr: int  # (places, 1)
    sigmoid: bool
    normalised: bool
    factor: float
    gates: int  # shared experts with a gate, the last row of the router
    dtype: str


def weigh(logits_ptr: int, weights_ptr: int, gates: tuple[int, int], choice: Any, tl: Any) -> None:
    """The weights of all places (places, 1), by the PEs of one cube, from logits (rows of the router, tokens).

    `gates` is where those of shared experts go: a pointer, and how many elements behind it.
    """
    by = Choice(*choice)
    if tl.program_id(CUBES):
        return
    size = itemsize(by.dtype)
    first, end = rows_in_cube(tl, by.places)
    if first < end:
        shares = _find_shares(tl, tl.load(logits_ptr, (by.experts, by.tokens), by.dtype), by)
        experts = tl.load(by.experts_ptr + first * 4, (end - first, 1), "f32")
        tokens = tl.load(by.tokens_ptr + first * 4, (end - first, 1), "f32")
        of_expert = tl.dot(tl.equal(experts, tl.arange(0, by.experts)), shares, out_dtype="f32")
        of_place = tl.sum(of_expert * tl.equal(tokens, tl.arange(0, by.tokens)), axis=1)
        tl.store(weights_ptr + first * size, narrow(tl, of_place, by.dtype))
    if by.gates and tl.program_id(PES) == 0:
        gate = tl.sigmoid(tl.load(logits_ptr + by.experts * by.tokens * size, (1, by.tokens), by.dtype))
        for copy in range(by.gates):
            tl.store(gates[0] + (gates[1] + copy * by.tokens) * size, tl.trans(gate))


def _find_shares(tl: Any, logits: Any, by: Choice) -> Any:
    """f32 (experts, tokens): the weights of the chosen experts, 0 elsewhere."""
    logits = narrow(tl, logits, "f32")
    scores = tl.sigmoid(logits) if by.sigmoid else tl.softmax(logits, axis=0)
    shares = scores * tl.load(by.chosen_ptr, (by.experts, by.tokens), "f32")
    if by.normalised:
        shares = shares / tl.sum(shares, axis=0)
    return shares if by.factor == 1 else shares * by.factor
