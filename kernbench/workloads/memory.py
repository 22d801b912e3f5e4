"""The memory that a network needs on each SIP, and whether it has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from kernbench.dtypes import stored_bytes
from kernbench.errors import InputError
from kernbench.workloads.architecture import Architecture, Heads, LayerKind
from kernbench.workloads.operators import FIRST_OF_MLP
from kernbench.workloads.step import Step, check_ranks, list_stages
from kernbench.workloads.weights import Weight, list_ends, list_layer

_TABLES = ("embedding", "positions", "token_types", "class_token")  # read by rows, in the type of activations
_OF_HEADS = ("q", "q_b", "kv_b")  # outputs that ranks share; those of the MLP too
_PARTS = ("gate", "up", "shared_gate", "shared_up", "expert_gate", "expert_up")
_SUMMED = ("o", "down", "shared_down", "expert_down")  # inputs that ranks share; their sum takes a bias once


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes on a SIP: of weights, of the cache, and of the activations of a step."""

    weights: int
    cache: int
    activations: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.weights + self.cache + self.activations


def find_memory(network: Architecture, step: Step) -> Memory:
    """What a step needs on a SIP of the stage that needs most; of its ranks the first holds most.

    Ranks share matrices by heads, inner features or rows of the vocabulary. What they cannot share each has: norms, tables,
    routers, and heads of keys and values where they are fewer than ranks. A matrix that is tied to the embedding is there
    beside it, as it lies otherwise. Vectors count once, though each cube has a copy.
    """
    widest = max(3 * network.hidden, 2 * network.mlp.inner // step.tensor)
    activations = (2 * network.hidden + widest) * step.tokens * stored_bytes(step.types.activations)
    ends = _list_ends(network)
    stages = list_stages(network.layers, step.stages)
    found = [
        (
            sum(_count(network, step, weight) for weight in _list_weights(network, layers, ends)),
            _count_cache(network, step, [network.layer_kinds[at] for at in layers]),
        )
        for layers in stages
    ]
    weights, cache = max(found, key=sum)
    return Memory(ceil(weights), ceil(cache), ceil(activations))


def _list_weights(network: Architecture, layers: range, ends: Sequence[Weight]) -> Iterator[Weight]:
    """The weights of a stage: tables are on the first, what else comes after the layers on the last."""
    for at in layers:
        yield from list_layer(network, network.layer_kinds[at])
    for weight in ends:
        if (layers.start == 0 and weight.name in _TABLES) or (
            layers.stop == network.layers and weight.name not in _TABLES
        ):
            yield weight


def _list_ends(network: Architecture) -> list[Weight]:
    ends = list_ends(network)
    if network.causal and network.tied:
        ends.append(Weight("lm_head", network.hidden, network.vocabulary))
    return ends


def _count_cache(network: Architecture, step: Step, kinds: Sequence[LayerKind]) -> float:
    """Bytes of the cache of some layers on a rank, of all micro-batches."""
    if not network.causal:
        return 0
    heads = network.attention
    shares = min(step.tensor, heads.keys) if isinstance(heads, Heads) else 1
    seen = sum(
        times * part.count * min(part.context, kind.window or part.context)
        for kind, times in Counter(kinds).items()
        for part in step.parts
    )
    return step.micro_batches * seen * heads.cached // shares * stored_bytes(step.types.cache)


def _count(network: Architecture, step: Step, weight: Weight) -> float:
    """Bytes of a weight on a rank."""
    rows, cols, copies, n = weight.rows, weight.cols, weight.copies, step.tensor
    if weight.name in ("k", "v") and isinstance(network.attention, Heads):
        cols = max(cols // n, network.attention.size)
    elif weight.name in (*_OF_HEADS, *_PARTS):
        cols //= n
    elif weight.name in _SUMMED:
        rows //= n
    elif weight.name == "lm_head":
        cols = -(-cols // n)
    if weight.name.startswith("expert_"):
        copies //= step.expert_ranks
    bias = cols * stored_bytes(step.types.activations) if weight.bias and weight.name != "router" else 0
    return copies * (rows * cols * stored_bytes(_find_type(step, weight)) + bias)


def _find_type(step: Step, weight: Weight) -> str:
    """The type in which a weight is there."""
    types = step.types
    if (weight.rows == 1 and weight.cols > 1) or weight.name in _TABLES:
        return types.activations
    return types.mlp if types.mlp and weight.name in FIRST_OF_MLP else types.weights


def check_memory(network: Architecture, step: Step, sip_bytes: int, place: str = "SIP") -> Memory:
    """What a step needs on each SIP, of `sip_bytes`; `place` is a chip where it is one.

    Errors: InputError with what is missing and what would do.
    """
    need = find_memory(network, step)
    missing = need.total - sip_bytes
    if missing <= 0:
        return need
    several = (2, 4, 8, 16, 32, 64) if place == "SIP" else ()
    more = next((ranks for ranks in several if _fits(network, step, ranks, sip_bytes)), None)
    remedies = [f"tp={more} would fit"] if more else []
    if not more and _fits_in_bytes(network, step, sip_bytes):
        remedies.append("weights and cache of 8 bits would fit")
    if most := _find_batch(step, need, sip_bytes):
        remedies.append(f"batch={most}" if remedies else f"batch={most} would fit")
    remedy = ", or ".join(remedies) or "give fewer sequences or tokens, more stages, or types of fewer bits"
    raise InputError(
        f"{network.name} needs {_gb(need.total)} on a {place} ({_gb(need.weights)} of weights, {_gb(need.cache)} of cache, "
        f"{_gb(need.activations)} of activations), which has {_gb(sip_bytes)}: {_gb(missing)} are missing; {remedy}"
    )


def _fits(network: Architecture, step: Step, ranks: int, sip_bytes: int) -> bool:
    if ranks <= step.tensor or step.expert_ranks > 1:
        return False
    try:
        check_ranks(network, ranks)
    except InputError:
        return False
    return find_memory(network, replace(step, tensor=ranks)).total <= sip_bytes


def _fits_in_bytes(network: Architecture, step: Step, sip_bytes: int) -> bool:
    types = replace(step.types, weights="f8e4m3", cache="f8e4m3")
    return find_memory(network, replace(step, types=types)).total <= sip_bytes


def _find_batch(step: Step, need: Memory, sip_bytes: int) -> int:
    """The sequences of all ranks and micro-batches whose cache fits in decode, with the activations of now; 0 if none."""
    left = sip_bytes - need.weights - need.activations
    if step.phase != "decode" or left < 0:
        return 0
    return left * step.sequences // need.cache * step.micro_batches * step.expert_ranks


def _gb(count: int) -> str:
    return f"{count / 1e9:,.3f} GB"
