"""A step of decode of a whole network on a rank: embedding, layers, output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.dtypes import itemsize
from kernbench.errors import InputError
from kernbench.workloads.architecture import Architecture, Heads, Latent, LayerKind
from kernbench.workloads.kernels.embedding import embed
from kernbench.workloads.kernels.layout import OVER_PES, over
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.routing import Routing, draw_routing
from kernbench.workloads.sip.choices import WITHOUT, Choices
from kernbench.workloads.sip.expert_ranks import SentExperts
from kernbench.workloads.sip.experts import ExpertsBlock
from kernbench.workloads.sip.latent import LatentBlock
from kernbench.workloads.sip.layer import AttentionBlock, MlpBlock
from kernbench.workloads.sip.projection import Part, Projection
from kernbench.workloads.sip.rank import Rank
from kernbench.workloads.step import Step

Attention = AttentionBlock | LatentBlock
Mlp = MlpBlock | ExpertsBlock | SentExperts
SUMS_BYTES = 64  # of a token, beside its features: the sums of a norm

if TYPE_CHECKING:
    from kernbench.host.torch.context import RuntimeContext
    from kernbench.host.torch.tensor import Tensor


def check_lowered(network: Architecture, step: Step) -> None:
    """Check that a step has kernels. Errors: InputError that names what has none, and what would do."""
    name = network.name
    lacks = {
        f"phase={step.phase} of experts": network.experts is not None and step.phase != "decode",
        f"phase={step.phase} of latent attention": not isinstance(network.attention, Heads) and step.phase != "decode",
    }
    found = [what for what, is_so in lacks.items() if is_so]
    if found:
        raise InputError(f"{name} needs {found[0]}, for which there are no kernels yet; it runs with phase=decode")


def check_scratch(network: Architecture, step: Step, pes: int, scratch_bytes: int) -> None:
    """Check that a PE can hold its features of all tokens, times a norm. Errors: InputError with what would do."""
    features = -(-network.hidden // pes)
    most = scratch_bytes // (features * itemsize(step.types.activations) + SUMS_BYTES)
    if step.sequences > most:
        raise InputError(
            f"{network.name} got {step.sequences:,} sequences; the PEs have {scratch_bytes:,} bytes of scratch, for at most "
            f"{most:,}; give fewer, or raise topology.pe.scratch_bytes"
        )


class Known(NamedTuple):
    """What the host knows before a step: the token of each sequence of a rank, and the experts of all tokens by layer."""

    ids: Sequence[int]
    routings: Mapping[int, Routing]


class Decoder:
    """A decoder on one rank: all tensors are made first, then the launches of a step follow each other."""

    attention: type[AttentionBlock] = AttentionBlock

    def __init__(
        self,
        torch: RuntimeContext,
        plan: Plan,
        step: Step,
        index: int,
        numbers: Numbers,
        known: Known | None = None,
        choices: Choices = WITHOUT,
    ) -> None:
        network, d = plan.network, plan.network.hidden
        self._routings = known.routings if known else {}
        self._ids = known.ids if known else list_ids(step, network.vocabulary)
        self.rank = rank = self._make_rank(torch, network, step, index % step.tensor, numbers)
        rank.expert_index = index // step.tensor
        rank.choices = choices
        self.x = rank.activation("x", d, over(choices.x))
        norms = network.norms
        self.part = rank.activation("part", d) if step.tensor > 1 or norms.after else None
        self.both = rank.activation("both", d) if network.parallel else self.x
        self._prepare_ends()
        self.layers: list[tuple[str, Attention, Mlp]] = []
        for at, kind in plan.list_layers():
            rank.align()
            self.layers.append((f"layer {at}", self._attention(at, kind), self._mlp(at, kind)))
        rank.align()
        self._prepare_output()

    def _make_rank(
        self, torch: RuntimeContext, network: Architecture, step: Step, index: int, numbers: Numbers
    ) -> Rank:
        return Rank(torch, network, step, index, numbers)

    def _prepare_ends(self) -> None:
        """Make what the embedding needs; `last` is the rank of what the output reads."""
        network = self.rank.network
        self.table = self._table("embedding", network.vocabulary)
        self.places = self._table("positions", network.positions) if network.positions else 0
        self.identity = self.rank.constant("identity", np.eye(self.rank.tokens, dtype=np.float32))
        self.last, self.read = self.rank, self.x

    def _prepare_output(self) -> None:
        """Make what the output needs."""
        network, last = self.rank.network, self.last
        place, name = ("start", "embedding") if network.tied else ("end", "lm_head")
        part = Part(name, network.vocabulary, network.hidden, last.share(network.vocabulary))
        self.head = Projection(last, place, [part], last.norm("end", "final_norm"))
        self.logits = last.activation("logits", self.head.rows)

    def _attention(self, at: int, kind: LayerKind) -> Attention:
        latent = isinstance(self.rank.network.attention, Latent)
        return (LatentBlock if latent else self.attention)(self.rank, f"{at}", kind)

    def _mlp(self, at: int, kind: LayerKind) -> Mlp:
        rank, experts, step = self.rank, self.rank.network.experts, self.rank.step
        if not (kind.sparse and experts):
            return MlpBlock(rank, f"{at}")
        found = self._routings.get(at) or draw_routing(experts, step.expert_ranks * rank.tokens, step.routing)
        return (SentExperts if step.expert_ranks > 1 else ExpertsBlock)(rank, f"{at}", found)

    def list_collectives(self) -> list[tuple[str, Tensor]]:
        """The collectives of a step, each with a tensor of its size."""
        found = [("all_reduce", self.part)] if self.part is not None and self.rank.step.tensor > 1 else []
        return found + [("all_to_all", mlp.out[0]) for *_, mlp in self.layers if isinstance(mlp, SentExperts)][:1]

    def launch(self) -> None:
        """The launches of a step."""
        rank = self.rank
        rank.section = "embedding"
        with rank.operator("embedding"):
            self._embed()
        for section, attention, mlp in self.layers:
            rank.section = section
            if rank.network.parallel:
                self._add_both(attention, mlp)
            else:
                self._add(attention, "attention")
                self._add(mlp, "MLP")
        rank.section = self.last.section = "output"
        self._output()

    def _output(self) -> None:
        """From what the layers leave to the logits."""
        with self.last.operator("lm_head"):
            cap = self.rank.network.soft_caps[1]
            self.last.multiply("lm_head", self.read, [self.head], self.logits, soft_cap=cap)

    def _embed(self) -> None:
        rank, network, before = self.rank, self.rank.network, self.rank.step.parts[0].before
        sizes = (before, network.hidden, network.embedding_scale)
        given = (self.places, self.identity, self.x, tuple(self._ids), *sizes, rank.dtype)
        rank.torch.launch("embed", embed, self.table, *given)

    def _add(self, block: Attention | Mlp, name: str) -> None:
        """x += the block of x, or its norm."""
        norms = self.rank.network.norms
        if self.part is None:
            block.launch(self.x, self.x, self.x)
            return
        block.launch(self.x, self.part, 0)
        if not norms.after:
            self.rank.add_parts(name, self.x, self.part)
            return
        if self.rank.step.tensor > 1:
            self.rank.sum_parts(name, self.part)
        assert isinstance(block, (AttentionBlock, MlpBlock))
        assert block.after is not None
        with self.rank.operator("norm, add"):
            self.rank.normalise(self.part, block.after, self.x, self.x)

    def _add_both(self, attention: Attention, mlp: Mlp) -> None:
        """x += what attention and MLP make of one x, with one all-reduce."""
        attention.launch(self.x, self.both, 0 if self.part else self.x)
        if self.part is None:
            mlp.launch(self.x, self.x, self.both)
            return
        mlp.launch(self.x, self.both, self.both)
        self.rank.add_parts("layer", self.x, self.both)

    def _table(self, name: str, rows: int) -> Tensor:
        rank, d = self.rank, self.rank.network.hidden

        def make() -> np.ndarray:
            return rank.numbers.matrix("start", name, rows, d)

        return rank.torch.computed((rows, d), make, rank.dtype, OVER_PES, name)


def list_ids(step: Step, vocabulary: int) -> list[int]:
    """The token of each sequence, spread over the vocabulary by a golden section."""
    return [int(index * 0.618033988749895 % 1 * vocabulary) for index in range(1, step.tokens + 1)]
