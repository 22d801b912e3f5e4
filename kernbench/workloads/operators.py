"""The operators of a step with what each must do at least: its flops, and the bytes of weights and cache that it reads.

A multiplication and an addition for each element of a weight and each token; four operations for each element of a query
and each token that it attends to. Matrices are read once a step, the cache of each sequence once, the embedding table not.
Sources of the formulas: J. Kaplan et al., "Scaling Laws for Neural Language Models", 2020, appendix; N. Shazeer,
"Fast Transformer Decoding", 2019.
"""

from __future__ import annotations

from dataclasses import dataclass

from kernbench.dtypes import stored_bytes
from kernbench.workloads.architecture import Architecture, Latent, LayerKind
from kernbench.workloads.step import Step
from kernbench.workloads.totals import expect_experts
from kernbench.workloads.weights import Weight, list_ends, list_layer

_TABLES = ("embedding", "positions", "token_types", "class_token")
FIRST_OF_MLP = ("gate", "up")  # matrices whose type may be another
_LAST = ("lm_head", "classes", "pooler")  # done for the last token of a sequence alone


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator of a layer, or of the network's ends; figures are of all ranks together, of one of its `times`."""

    name: str
    kind: str  # matrix, attention, norm, embedding
    times: int  # layers that have it
    flops: int
    weight_bytes: float
    cache_bytes: float
    layer: LayerKind | None = None  # None: one of the ends

    @property
    def bytes(self) -> float:
        """The least bytes that it reads."""
        return self.weight_bytes + self.cache_bytes


@dataclass(frozen=True, slots=True)
class Least:
    """What a step must do at least."""

    flops: int
    weight_bytes: float
    cache_bytes: float

    @property
    def bytes(self) -> float:
        """Of weights and cache."""
        return self.weight_bytes + self.cache_bytes


def list_operators(network: Architecture, step: Step, distinct: float | None = None) -> list[Operator]:
    """The operators of a step, layers of one kind once with their number.

    `distinct` are the experts of a layer that have tokens; without it as many as are expected.
    """
    experts = network.experts
    if experts and distinct is None:
        distinct = expect_experts(experts.count, experts.chosen, step.tokens)
    found = [_of_end(step, weight) for weight in list_ends(network)]
    if network.causal and network.tied:
        found.append(_of_end(step, Weight("lm_head", network.hidden, network.vocabulary)))
    for kind, times in network.count_kinds().items():
        found += [_of_layer(step, weight, kind, times, distinct) for weight in list_layer(network, kind)]
        found.append(_attend(network, step, kind, times))
    return found


def sum_least(operators: list[Operator]) -> Least:
    """What operators must do together."""
    return Least(
        sum(one.times * one.flops for one in operators),
        sum(one.times * one.weight_bytes for one in operators),
        sum(one.times * one.cache_bytes for one in operators),
    )


def _of_end(step: Step, weight: Weight) -> Operator:
    if weight.name in _TABLES:
        return Operator(weight.name, "embedding", 1, 0, 0, 0)
    tokens = step.sequences if weight.name in _LAST else step.tokens
    read = weight.elements * stored_bytes(step.types.weights)
    return Operator(weight.name, _kind(weight), 1, 2 * tokens * weight.active_elements, read, 0)


def _of_layer(step: Step, weight: Weight, layer: LayerKind, times: int, distinct: float | None) -> Operator:
    read: float = weight.elements
    if distinct is not None and weight.name.startswith("expert_"):
        read = weight.elements / weight.copies * distinct
    types = step.types
    width = stored_bytes(types.mlp if types.mlp and weight.name in FIRST_OF_MLP else types.weights)
    return Operator(weight.name, _kind(weight), times, 2 * step.tokens * weight.active_elements, read * width, 0, layer)


def _kind(weight: Weight) -> str:
    return "norm" if weight.rows == 1 and weight.cols > 1 else "matrix"


def _attend(network: Architecture, step: Step, kind: LayerKind, times: int) -> Operator:
    attention = network.attention
    seen = sum(part.sum_context(kind.window, network.causal) for part in step.parts)
    if isinstance(attention, Latent):
        absorbed = step.phase == "decode"
        wide = attention.rank + attention.rotary + attention.rank
        flops = 2 * attention.queries * (wide if absorbed else attention.plain + attention.rotary + attention.value)
    else:
        flops = 4 * attention.queries * attention.size
    kept = sum(part.count * min(part.context, kind.window or part.context) for part in step.parts if part.before)
    read = kept * attention.cached * stored_bytes(step.types.cache)
    return Operator("attention", "attention", times, flops * seen, 0, read, kind)
