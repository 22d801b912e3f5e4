"""Totals of a transformer: parameters, those that a token uses, and the cache of keys and values."""

from __future__ import annotations

from fractions import Fraction

from kernbench.workloads.architecture import Architecture
from kernbench.workloads.weights import list_ends, list_layer


def count_parameters(network: Architecture) -> int:
    """All parameters; tied matrices are counted once."""
    layers = sum(
        count * sum(weight.elements for weight in list_layer(network, kind))
        for kind, count in network.count_kinds().items()
    )
    return layers + sum(weight.elements for weight in list_ends(network))


def count_active(network: Architecture) -> int:
    """The parameters that one token uses, the whole embedding table among them."""
    layers = sum(
        count * sum(weight.active_elements for weight in list_layer(network, kind))
        for kind, count in network.count_kinds().items()
    )
    return layers + sum(weight.active_elements for weight in list_ends(network))


def count_read(network: Architecture) -> int:
    """The elements that a step of one token reads: those active, without the embedding tables, with the output matrix."""
    tables = sum(w.elements for w in list_ends(network) if w.name in ("embedding", "positions", "token_types"))
    again = network.hidden * network.vocabulary if network.causal and network.tied else 0
    return count_active(network) - tables + again


def count_cached(network: Architecture, tokens: int) -> int:
    """Elements of the cache of one sequence of a number of tokens; layers with a window keep those in it."""
    if not network.causal:
        return 0
    return network.attention.cached * sum(min(tokens, kind.window or tokens) for kind in network.layer_kinds)


def expect_experts(count: int, chosen: int, tokens: int) -> float:
    """The distinct experts that a number of tokens choose, if each chooses `chosen` of `count` alike: E (1 - (1 - K/E)^B)."""
    return float(count * (1 - (1 - Fraction(chosen, count)) ** tokens))
