"""A step of prefill of a whole network on a chip: tensors of all tokens are in DRAM, and each program takes the whole chip."""

from __future__ import annotations

from functools import partial

from kernbench.tanto.tiles import SIDE
from kernbench.workloads.architecture import LayerKind
from kernbench.workloads.tensix.checks import format_of
from kernbench.workloads.tensix.chip import parts_of
from kernbench.workloads.tensix.network import ChipNetwork, kernel_of
from kernbench.workloads.tensix.prompt_attention import PromptAttention
from kernbench.workloads.tensix.tensors import (
    ACTIVATE,
    GATE,
    Tensor,
    add,
    combine,
    embed_rows,
    multiply_rows,
    normalise_rows,
    pick_last,
)


class PromptDecoder(ChipNetwork):
    """A decoder that takes all tokens of its prompts; the last of each gives logits."""

    def launch(self) -> None:
        """The programs of a step."""
        chip, network = self.chip, self.network
        (part,) = self.step.parts
        chip.section = "embedding"
        x = embed_rows(self.table, part.tokens, part.count)
        for at, kind in self.plan.list_layers():
            chip.section = f"layer {at}"
            x = self._launch_layer(f"{at}", kind, x)
        chip.section = "output"
        last, normed = (chip.shards(parts_of(network.hidden, SIDE)) for _ in range(2))
        pick_last(chip, x, part.count, part.tokens, last)
        self._launch_end(last, normed)

    def _launch_layer(self, place: str, kind: LayerKind, x: Tensor) -> Tensor:
        """What a layer makes of x."""
        network = self.network
        read = normalise_rows(self.make_norm(place, "input_norm"), x)
        attended = add(self.chip, "add", x, self._attend(place, kind, read))
        if network.norms.per_layer > 1:
            read = normalise_rows(self.make_norm(place, "mlp_norm"), x if network.parallel else attended)
        return add(self.chip, "add", attended, self._run_mlp(place, read))

    def _attend(self, place: str, kind: LayerKind, x: Tensor) -> Tensor:
        heads, d, sizes = self.heads, self.network.hidden, self.find_sizes(kind)
        queries, keys = heads.queries * heads.size, heads.keys * heads.size
        qkv = self._multiply("q, k, v", place, x, [("q", queries, d), ("k", keys, d), ("v", keys, d)], heads=True)
        attended = PromptAttention(self.chip, sizes, format_of(self.step.types.cache)).launch(qkv)
        return self._multiply("o", place, attended, [("o", d, queries)])

    def _run_mlp(self, place: str, x: Tensor) -> Tensor:
        mlp, d = self.network.mlp, self.network.hidden
        activation = kernel_of(mlp.activation)
        up = self._multiply("up", place, x, [("up", mlp.inner, d)], first=True)
        if mlp.gated:
            gate = self._multiply("gate", place, x, [("gate", mlp.inner, d)], first=True)
            inner = combine(self.chip, "gated", gate, up, GATE, activation)
        else:
            inner = combine(self.chip, "activation", up, up, ACTIVATE, activation)
        return self._multiply("down", place, inner, [("down", d, mlp.inner)])

    def _multiply(
        self,
        operator: str,
        place: str,
        x: Tensor,
        parts: list[tuple[str, int, int]],
        *,
        heads: bool = False,
        first: bool = False,
    ) -> Tensor:
        """The product of x and matrices side by side; `heads` have the order of attention, `first` are those of an MLP."""
        types = self.step.types
        dtype = format_of(types.mlp or types.weights if first else types.weights)
        sizes = self.find_sizes(self.plan.network.layer_kinds[0]) if heads else None
        make = partial(self.make_matrix, place, parts, sizes)
        fidelity = self.fidelities.mlp if first else ""
        return multiply_rows(self.chip, operator, x, make, sum(out for _, out, _ in parts), dtype, fidelity)
