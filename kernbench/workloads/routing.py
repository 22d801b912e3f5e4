"""Which experts the tokens of a step take: known to the host before the step, drawn by a rule that is stated.

No weights are there, so no router decides. By the rule `uniform` each token takes its experts at random, alike. By
`balanced` experts follow each other in a ring, so that their numbers of tokens differ by one at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kernbench.workloads.architecture import Experts
from kernbench.workloads.totals import expect_experts

SKEW = "skewed routing: experts are drawn alike, and all layers take the same draw"
DRAWS = 64  # of which that one counts whose number of distinct experts is nearest to the expected


@dataclass(frozen=True, slots=True)
class Routing:
    """The experts of each token, in any order."""

    chosen: tuple[tuple[int, ...], ...]

    def list_loads(self) -> list[tuple[int, tuple[int, ...]]]:
        """(expert, its tokens) of each expert that has some, in order."""
        found: dict[int, list[int]] = {}
        for token, experts in enumerate(self.chosen):
            for expert in experts:
                found.setdefault(expert, []).append(token)
        return [(expert, tuple(found[expert])) for expert in sorted(found)]

    @property
    def distinct(self) -> int:
        """Experts that have a token."""
        return len({expert for experts in self.chosen for expert in experts})

    @property
    def most(self) -> int:
        """Tokens of the expert that has most."""
        return max(len(tokens) for _, tokens in self.list_loads())


@lru_cache(64)
def draw_routing(experts: Experts, tokens: int, rule: str) -> Routing:
    """The experts of a number of tokens by a rule, the same in each process and in each layer."""
    if rule == "balanced":
        ring = np.arange(tokens * experts.chosen) % experts.count
        return _freeze(ring.reshape(tokens, experts.chosen))
    expected = expect_experts(experts.count, experts.chosen, tokens)
    draws = (_draw(experts, tokens, seed) for seed in range(DRAWS))
    return min(draws, key=lambda one: abs(one.distinct - expected))


def tell_routing(experts: Experts, tokens: int, rule: str) -> dict[str, Any]:
    """Which experts of a layer have tokens, in JSON's types."""
    found = draw_routing(experts, tokens, rule)
    return {
        "rule": rule,
        "experts": experts.count,
        "chosen": experts.chosen,
        "distinct": found.distinct,
        "expected": expect_experts(experts.count, experts.chosen, tokens),
        "most_tokens": found.most,
    }


def _draw(experts: Experts, tokens: int, seed: int) -> Routing:
    """Each token takes its groups at random, and its experts of these."""
    rng = np.random.default_rng((seed, experts.count, experts.chosen, tokens))
    scores = rng.random((tokens, experts.groups, experts.count // experts.groups))
    if experts.groups > 1:
        order = rng.random((tokens, experts.groups))
        left_out = order < np.sort(order, axis=1)[:, [-experts.groups_chosen]]
        scores[left_out] = -1
    flat = scores.reshape(tokens, experts.count)
    return _freeze(np.argsort(-flat, axis=1, kind="stable")[:, : experts.chosen])


def _freeze(chosen: np.ndarray) -> Routing:
    return Routing(tuple(tuple(int(expert) for expert in one) for one in chosen))
