"""A step of a network: which tokens it takes, in what types, and over how many SIPs."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from kernbench.dtypes import BLOCK_BITS, canonical_stored, is_float
from kernbench.errors import InputError, shorten, suggest
from kernbench.workloads.architecture import Architecture, Heads
from kernbench.workloads.names import PHASES, ROUTINGS


@dataclass(frozen=True, slots=True)
class Sequences:
    """`count` sequences, each with `tokens` new tokens behind `before` that are in the cache; `sampled` give a next token."""

    count: int
    tokens: int
    before: int

    @property
    def context(self) -> int:
        """Tokens that the last new one attends to, itself among them."""
        return self.before + self.tokens

    def sum_context(self, window: int | None, causal: bool) -> int:
        """Tokens attended to, summed over all new tokens of all sequences."""
        if not causal:
            return self.count * self.tokens * self.context
        whole = self.tokens * self.before + self.tokens * (self.tokens + 1) // 2
        if window is not None and window < self.context:
            inside = max(0, min(self.tokens, window - self.before))  # the first tokens, which see less than the window
            whole = inside * self.before + inside * (inside + 1) // 2 + (self.tokens - inside) * window
        return self.count * whole


@dataclass(frozen=True, slots=True)
class Types:
    """Types of elements: of weights, of activations and of the cache."""

    weights: str
    activations: str
    cache: str
    mlp: str | None = None  # of the first matrices of an MLP, if another


@dataclass(frozen=True, slots=True)
class Step:
    """What one step of a network is asked to do on a rank; `replicas` do the same beside each other.

    `tensor` ranks share each layer of the same sequences. `expert_ranks` share the experts alone, and each has its sequences.
    """

    phase: str
    parts: tuple[Sequences, ...]
    types: Types
    tensor: int = 1
    replicas: int = 1
    routing: str = "uniform"  # the rule by which tokens take experts
    expert_ranks: int = 1
    stages: int = 1  # of a pipeline, each with such ranks and some of the layers
    micro_batches: int = 1  # that pass the stages; the parts are those of one

    @property
    def ranks(self) -> int:
        """SIPs of a stage."""
        return self.tensor * self.expert_ranks

    @property
    def sips(self) -> int:
        """SIPs of all replicas."""
        return self.ranks * self.stages * self.replicas

    @property
    def tokens(self) -> int:
        """New tokens of the sequences of a rank."""
        return sum(part.count * part.tokens for part in self.parts)

    @property
    def sequences(self) -> int:
        """Sequences of a rank; each ends the step with a next token."""
        return sum(part.count for part in self.parts)


def make_step(
    network: Architecture,
    *,
    phase: str,
    batch: int,
    prompt: int,
    context: int,
    chunk: int,
    types: Types,
    tensor: int = 1,
    replicas: int = 1,
    routing: str = "uniform",
    expert_ranks: int = 1,
    stages: int = 1,
    micro_batches: int = 0,
) -> Step:
    """A step of a phase. Errors: InputError for what the network has not, or sizes that do not divide.

    Decode takes a token of each of `batch` sequences, with `context` tokens to attend to. Prefill takes `prompt` tokens of
    each. Chunked prefill takes the last `chunk` tokens of one prompt, and a token of each of `batch` sequences beside it.
    `batch` is that of all ranks and micro-batches; without their number there are as many as stages, or the next fewer that
    divide it.
    """
    name = network.name
    if phase not in PHASES:
        raise InputError(f"{name} got phase={shorten(repr(phase))}{suggest(phase, PHASES)}")
    if not network.causal and phase != "prefill":
        raise InputError(f"{name} is an encoder, which has no {phase}; give phase=prefill")
    given = {"batch": batch, "prompt": prompt, "context": context, "tp": tensor, "dp": replicas}
    given |= {"ep": expert_ranks, "pp": stages}
    for key, value in given.items():
        if value < 1:
            raise InputError(f"{name} got {key}={value}; give 1 or more")
    check_expert_ranks(network, tensor, expert_ranks, batch)
    batch //= expert_ranks
    micro_batches = find_micro_batches(network, phase, batch, stages, micro_batches)
    batch //= micro_batches
    if network.patches:
        prompt = network.patches.tokens
    parts = {
        "decode": (Sequences(batch, 1, context - 1),),
        "prefill": (Sequences(batch, prompt, 0),),
        "chunked": (Sequences(1, chunk, prompt - chunk), Sequences(batch, 1, context - 1)),
    }[phase]
    if phase == "chunked" and not 1 <= chunk <= prompt:
        raise InputError(f"{name} got chunk={chunk} of prompt={prompt}; give 1 to {prompt}")
    longest = max(part.context for part in parts)
    if network.context and longest > network.context:
        raise InputError(f"{name} attends to at most {network.context:,} tokens, got {longest:,}; give fewer")
    check_ranks(network, tensor)
    if routing not in ROUTINGS:
        raise InputError(f"{name} got routing={shorten(repr(routing))}{suggest(routing, ROUTINGS)}")
    return Step(phase, parts, types, tensor, replicas, routing, expert_ranks, stages, micro_batches)


def list_unread(network: Architecture, phase: str, asked: Mapping[str, object]) -> list[str]:
    """A line for each parameter that was asked for, by name, and that a step of this phase does not read."""
    unread = {"decode": ("prompt", "chunk"), "prefill": ("context", "chunk"), "chunked": ()}[phase]
    reasons = dict.fromkeys(unread, f"phase={phase} does not read it")
    if network.patches:
        reasons["prompt"] = f"an image has {network.patches.tokens} tokens"
    if network.experts is None:
        reasons["routing"] = "the network has no experts"
    if not network.causal:
        reasons["cache"] = "an encoder has no cache"
    return [f"{name}={asked[name]}: {reason}" for name, reason in reasons.items() if name in asked]


def check_ranks(network: Architecture, tensor: int) -> None:
    """Check that ranks of tensor parallelism can share a network. Errors: InputError."""
    queries = network.attention.queries
    experts = network.experts
    sizes = {"heads": queries, "inner features": network.mlp.inner}
    if experts:
        sizes["inner features of an expert"] = experts.inner
    if isinstance(network.attention, Heads) and network.attention.keys > tensor:
        sizes["heads of keys and values"] = network.attention.keys
    for what, size in sizes.items():
        if size % tensor:
            raise InputError(f"{network.name} has {size} {what}, which tp={tensor} ranks cannot share; give a divisor")


def check_expert_ranks(network: Architecture, tensor: int, expert_ranks: int, batch: int) -> None:
    """Check that ranks can share the experts of a network, and the sequences of a step. Errors: InputError."""
    name, ep = network.name, expert_ranks
    if ep == 1:
        return
    if network.experts is None:
        raise InputError(f"{name} has no experts, which ep={ep} ranks could share; leave ep out, or give tp={ep}")
    if tensor > 1:
        raise InputError(
            f"{name} got tp={tensor} and ep={ep}; collectives of some of the ranks are not modelled: give one of them, and the "
            "other 1"
        )
    if network.experts.count % ep:
        raise InputError(
            f"{name} has {network.experts.count} experts, which ep={ep} ranks cannot share; give a divisor"
        )
    if batch % ep:
        raise InputError(f"{name} got batch={batch}, which ep={ep} ranks cannot share; give a multiple of {ep}")


def find_micro_batches(network: Architecture, phase: str, batch: int, stages: int, asked: int) -> int:
    """The micro-batches of a pipeline, of `batch` sequences of a rank. Errors: InputError."""
    name = network.name
    if stages > network.layers:
        raise InputError(
            f"{name} has {network.layers} layers, too few for pp={stages} stages; give at most {network.layers}"
        )
    if asked < 0 or (asked > 1 and (stages == 1 or phase == "chunked")):
        raise InputError(
            f"{name} got micro={asked}; micro-batches are of decode and prefill on the stages of a pipeline, such as pp=2"
        )
    if asked and batch % asked:
        raise InputError(f"{name} got micro={asked}, which does not divide {batch} sequences of a rank; give a divisor")
    usual = 1 if phase == "chunked" else min(stages, batch)
    return asked or next(count for count in range(usual, 0, -1) if batch % count == 0)


def list_stages(layers: int, stages: int) -> list[range]:
    """The layers of each stage, in order; their numbers differ by one at most."""
    ends = [stage * layers // stages for stage in range(stages + 1)]
    return [range(first, end) for first, end in itertools.pairwise(ends)]


def check_sips(network: Architecture, step: Step, machine: str, sips: int) -> None:
    """Check that a machine has the SIPs that a step takes. Errors: InputError."""
    if step.sips <= sips:
        return
    asked = {"tp": step.tensor, "pp": step.stages, "ep": step.expert_ranks, "dp": step.replicas}
    *others, last = [f"{name}={count}" for name, count in asked.items() if name in ("tp", "dp") or count > 1]
    raise InputError(
        f"{network.name} got {', '.join(others)} and {last}, which take {step.sips} SIPs, and {machine} has {sips}; give "
        f"fewer, or --set topology.sips.count={step.sips}"
    )


def read_types(network: Architecture, weights: str, activations: str, cache: str, mlp: str = "") -> Types:
    """The types of a step; an empty name is that of the config. Errors: InputError for types that are unknown or integers."""
    own = network.dtype
    found = (weights or network.quantised or own, activations or own, cache or activations or own)
    own_types = [canonical_stored(name) for name in found]
    for what, one in zip(("activations", "cache"), own_types[1:], strict=True):
        if one not in BLOCK_BITS and not is_float(one):
            raise InputError(f"{network.name} got {what} of {one}; give a floating-point type such as f16 or fp8")
    return Types(own_types[0], own_types[1], own_types[2], canonical_stored(mlp) if mlp else None)
