"""The weights of a transformer: each matrix and vector by name, with its shape."""

from __future__ import annotations

from typing import NamedTuple

from kernbench.workloads.architecture import Architecture, Latent, LayerKind


class Weight(NamedTuple):
    """A matrix of `rows` inputs x `cols` outputs, or a vector (rows 1); a token uses `active` of its `copies`."""

    name: str
    rows: int
    cols: int
    bias: bool = False
    copies: int = 1
    active: int = 1

    @property
    def elements(self) -> int:
        """Elements of all copies, biases included."""
        return (self.rows + self.bias) * self.cols * self.copies

    @property
    def active_elements(self) -> int:
        """Elements that one token uses."""
        return (self.rows + self.bias) * self.cols * self.active


def list_layer(network: Architecture, kind: LayerKind) -> list[Weight]:
    """The weights of a layer of a kind."""
    norms = network.norms.per_layer * network.norms.vectors
    return [
        *_list_attention(network),
        *_list_mlp(network, kind),
        Weight("norm", 1, network.hidden, copies=norms, active=norms),
    ]


def list_ends(network: Architecture) -> list[Weight]:
    """The weights before the first layer and after the last."""
    d = network.hidden
    found = [
        Weight("embedding", network.vocabulary, d),
        Weight("positions", network.positions, d),
        Weight("token_types", network.token_types, d),
    ]
    if network.patches:
        patches = network.patches
        found += [
            Weight("patches", patches.channels * patches.patch**2, d, bias=True),
            Weight("class_token", 1, d),
            Weight("classes", d, patches.classes, bias=True),
        ]
    norms = (network.norms.final + network.norms.embedding) * network.norms.vectors
    found.append(Weight("final_norm", 1, d, copies=norms, active=norms))
    if network.pooler:
        found.append(Weight("pooler", d, d, bias=True))
    if network.causal and not network.tied:
        found.append(Weight("lm_head", d, network.vocabulary))
    return [weight for weight in found if weight.elements]


def _list_attention(network: Architecture) -> list[Weight]:
    d, attention = network.hidden, network.attention
    if isinstance(attention, Latent):
        return _list_latent(d, attention)
    h, k, e = attention.queries, attention.keys, attention.size
    return [
        Weight("q", d, h * e, attention.bias),
        Weight("k", d, k * e, attention.bias),
        Weight("v", d, k * e, attention.bias),
        *([Weight("q_norm", 1, e), Weight("k_norm", 1, e)] if attention.normalised else []),
        Weight("o", h * e, d, attention.out_bias),
    ]


def _list_latent(d: int, a: Latent) -> list[Weight]:
    queries = a.queries * (a.plain + a.rotary)
    if a.query_rank is None:
        found = [Weight("q", d, queries)]
    else:
        rank = a.query_rank
        found = [Weight("q_a", d, rank), Weight("q_a_norm", 1, rank), Weight("q_b", rank, queries)]
    return [
        *found,
        Weight("kv_a", d, a.rank + a.rotary),
        Weight("kv_a_norm", 1, a.rank),
        Weight("kv_b", a.rank, a.queries * (a.plain + a.value)),
        Weight("o", a.queries * a.value, d),
    ]


def _list_mlp(network: Architecture, kind: LayerKind) -> list[Weight]:
    d, mlp, experts = network.hidden, network.mlp, network.experts
    if not (kind.sparse and experts):
        return _list_matrices("", d, mlp.inner, mlp.gated, mlp.bias)
    found = [Weight("router", d, experts.count, experts.router_bias)]
    found += _list_matrices("expert_", d, experts.inner, mlp.gated, mlp.bias, experts.count, experts.chosen)
    if experts.shared:
        found += _list_matrices("shared_", d, experts.shared, mlp.gated, mlp.bias)
    if experts.shared_gate:
        found.append(Weight("shared_router", d, 1))
    return found


def _list_matrices(
    prefix: str, d: int, inner: int, gated: bool, bias: bool, copies: int = 1, active: int = 1
) -> list[Weight]:
    inputs = ("gate", "up") if gated else ("up",)
    shapes = [*((name, d, inner) for name in inputs), ("down", inner, d)]
    return [Weight(prefix + name, rows, cols, bias, copies, active) for name, rows, cols in shapes]
