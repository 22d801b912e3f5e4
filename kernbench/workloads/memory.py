"""The memory that a network needs on each SIP, and whether it has it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from kernbench.dtypes import stored_bytes
from kernbench.errors import InputError
from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.operators import FIRST_OF_MLP
from kernbench.workloads.step import Step
from kernbench.workloads.totals import count_cached, count_parameters
from kernbench.workloads.weights import list_layer


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
    """What a step needs on each SIP of a replica; ranks share matrices, and heads of keys and values if there are enough."""
    ranks = step.tensor
    weights = ceil(_weight_bytes(network, step) / ranks)
    shares = min(ranks, network.attention.keys) if isinstance(network.attention, Heads) else 1
    cached = sum(part.count * count_cached(network, part.context) for part in step.parts)
    widest = max(3 * network.hidden, 2 * network.mlp.inner // ranks)
    activations = (2 * network.hidden + widest) * step.tokens * stored_bytes(step.types.activations)
    return Memory(weights, ceil(cached * stored_bytes(step.types.cache) / shares), ceil(activations))


def _weight_bytes(network: Architecture, step: Step) -> float:
    """The bytes of all weights."""
    types = step.types
    whole = count_parameters(network) * stored_bytes(types.weights)
    if types.mlp is None:
        return whole
    kinds = network.count_kinds().items()
    first = sum(
        times * one.elements for kind, times in kinds for one in list_layer(network, kind) if one.name in FIRST_OF_MLP
    )
    return whole + first * (stored_bytes(types.mlp) - stored_bytes(types.weights))


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
    remedy = f"tp={more} would fit" if more else "give types of fewer bits"
    if need.weights + need.activations < sip_bytes and step.phase == "decode":
        most = (sip_bytes - need.weights - need.activations) * step.sequences // need.cache
        remedy += f", or batch={most}" if most else ""
    raise InputError(
        f"{network.name} needs {_gb(need.total)} on a {place} ({_gb(need.weights)} of weights, {_gb(need.cache)} of cache, "
        f"{_gb(need.activations)} of activations), which has {_gb(sip_bytes)}: {_gb(missing)} are missing; {remedy}"
    )


def _fits(network: Architecture, step: Step, ranks: int, sip_bytes: int) -> bool:
    if ranks <= step.tensor or network.attention.queries % ranks:
        return False
    return find_memory(network, Step(step.phase, step.parts, step.types, ranks)).total <= sip_bytes


def _gb(count: int) -> str:
    return f"{count / 1e9:,.3f} GB"
