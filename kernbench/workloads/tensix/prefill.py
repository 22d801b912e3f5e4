"""A step of prefill of a whole network on a chip: tensors of all tokens are in DRAM, and each program takes the whole chip."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from kernbench.tanto.tiles import SIDE
from kernbench.workloads.architecture import LayerKind
from kernbench.workloads.tensix.checks import format_of
from kernbench.workloads.tensix.chip import parts_of
from kernbench.workloads.tensix.network import ChipNetwork, kernel_of
from kernbench.workloads.tensix.prompt_attention import PromptAttention
from kernbench.workloads.tensix.tensors import (
    GATE,
    Tensor,
    add,
    combine,
    embed_rows,
    make_rows,
    multiply_rows,
    normalise_rows,
    pick_tokens,
)

Matrices = Sequence[tuple[str, int, int]]  # side by side: name, outputs and features of each


class PromptDecoder(ChipNetwork):
    """A decoder that takes all tokens of its prompts; the last of each gives logits."""

    def launch(self) -> None:
        """The programs of a step."""
        self.chip.section = "embedding"
        x = self._embed()
        for at, kind in self.plan.list_layers():
            self.chip.section = f"layer {at}"
            x = self._launch_layer(f"{at}", kind, x)
        self.chip.section = "output"
        self._launch_output(x)

    def _embed(self) -> Tensor:
        (part,), network = self.step.parts, self.network
        x = embed_rows(self.table, part.tokens, part.count)
        return add(self.chip, "positions", x, self._make_places()) if network.positions else x

    def _make_places(self) -> Tensor:
        """The positions of the tokens of a sequence; what all tokens have in common is added to them."""
        (part,), network, numbers = self.step.parts, self.network, self.numbers

        def make() -> np.ndarray:
            found = numbers.matrix("start", "positions", network.positions, network.hidden)[: part.tokens]
            types = network.token_types
            return found + numbers.matrix("start", "token_types", types, network.hidden)[0] if types else found

        return make_rows(self.chip, make, parts_of(part.tokens, SIDE), parts_of(network.hidden, SIDE))

    def _launch_layer(self, place: str, kind: LayerKind, x: Tensor) -> Tensor:
        """What a layer makes of x."""
        network = self.network
        read = normalise_rows(self.make_norm(place, "input_norm"), x)
        attended = self._attend(place, kind, read, x)
        if network.norms.per_layer > 1:
            read = normalise_rows(self.make_norm(place, "mlp_norm"), x if network.parallel else attended)
        return self._run_mlp(place, read, attended)

    def _launch_output(self, x: Tensor) -> None:
        (part,) = self.step.parts
        last, normed = (self.chip.shards(parts_of(self.network.hidden, SIDE)) for _ in range(2))
        pick_tokens(self.chip, x, part.count, part.tokens, part.tokens - 1, last)
        self._launch_end(last, normed)

    def _attend(self, place: str, kind: LayerKind, x: Tensor, added: Tensor) -> Tensor:
        """What is added, and attention of x."""
        heads, d, network = self.heads, self.network.hidden, self.network
        queries, keys = heads.queries * heads.size, heads.keys * heads.size
        parts = [("q", queries, d), ("k", keys, d), ("v", keys, d)]
        qkv = self._multiply("q, k, v", place, x, parts, bias=heads.bias, kind=kind)
        cache = format_of(self.step.types.cache)
        attended = PromptAttention(self.chip, self.find_sizes(kind), cache, network.causal).launch(qkv)
        return self._multiply("o", place, attended, [("o", d, queries)], bias=heads.out_bias, added=added)

    def _run_mlp(self, place: str, x: Tensor, added: Tensor) -> Tensor:
        """What is added, and the MLP of x."""
        mlp, d = self.network.mlp, self.network.hidden
        activation = kernel_of(mlp.activation)
        if mlp.gated:
            gate, up = (self._multiply(name, place, x, [(name, mlp.inner, d)], first=True) for name in ("gate", "up"))
            inner = combine(self.chip, "gated", gate, up, GATE, activation)
        else:
            inner = self._multiply(
                "up", place, x, [("up", mlp.inner, d)], bias=mlp.bias, activation=activation, first=True
            )
        return self._multiply("down", place, inner, [("down", d, mlp.inner)], bias=mlp.bias, added=added)

    def _multiply(
        self,
        operator: str,
        place: str,
        x: Tensor,
        parts: Matrices,
        *,
        bias: bool = False,
        added: Tensor | None = None,
        activation: str = "",
        kind: LayerKind | None = None,
        first: bool = False,
    ) -> Tensor:
        """The activation of what is added, a bias, and the product of x and matrices side by side.

        Heads of a `kind` have the order of attention; `first` matrices are those of an MLP.
        """
        types, listed = self.step.types, list(parts)
        dtype = format_of(types.mlp or types.weights if first else types.weights)
        sizes = None if kind is None else self.find_sizes(kind)
        outputs = sum(out for _, out, _ in parts)

        def make_bias() -> np.ndarray:
            return np.tile(self.make_bias(place, listed, sizes), (SIDE, 1))

        return multiply_rows(
            self.chip,
            operator,
            x,
            partial(self.make_matrix, place, listed, sizes),
            outputs,
            dtype,
            added=added,
            bias=make_rows(self.chip, make_bias, 1, parts_of(outputs, SIDE)) if bias else None,
            activation=activation,
            fidelity=self.fidelities.mlp if first else "",
        )
