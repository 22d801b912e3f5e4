"""Totals of a transformer: parameters, those that a token uses, and the cache of keys and values."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from kernbench.workloads.architecture import Architecture
from kernbench.workloads.weights import Weight, list_ends, list_layer


def count_parameters(network: Architecture) -> int:
    """All parameters; tied matrices are counted once."""
    return _sum_weights(network, lambda weight: weight.elements)


def count_active(network: Architecture) -> int:
    """The parameters that one token uses, the whole embedding table among them."""
    return _sum_weights(network, lambda weight: weight.active_elements)


def _sum_weights(network: Architecture, size: Callable[[Weight], int]) -> int:
    kinds = network.count_kinds().items()
    layers = sum(count * sum(map(size, list_layer(network, kind))) for kind, count in kinds)
    return layers + sum(map(size, list_ends(network)))


def count_cached(network: Architecture, tokens: int) -> int:
    """Elements of the cache of one sequence of a number of tokens; layers with a window keep those in it."""
    if not network.causal:
        return 0
    return network.attention.cached * sum(min(tokens, kind.window or tokens) for kind in network.layer_kinds)


def expect_experts(count: int, chosen: int, tokens: int) -> float:
    """The distinct experts that a number of tokens choose, if each chooses `chosen` of `count` alike: E (1 - (1 - K/E)^B)."""
    return float(count * (1 - (1 - Fraction(chosen, count)) ** tokens))
