"""A network on a chip: the tensors of its ends, and how the weights of its layers are drawn and laid out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from kernbench.tanto.api import Global
from kernbench.tanto.device import Device
from kernbench.tanto.tiles import TILE
from kernbench.workloads.architecture import Heads, LayerKind
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.step import Step
from kernbench.workloads.tensix.attention import Sizes
from kernbench.workloads.tensix.checks import format_of
from kernbench.workloads.tensix.chip import ACTIVATIONS, Chip, Shards
from kernbench.workloads.tensix.linear import Weights, multiply
from kernbench.workloads.tensix.rows import NormWeights, Table, normalise


@dataclass(frozen=True, slots=True)
class Fidelities:
    """Phases of products, as tt-metal names them: of all, and of the first matrices of an MLP."""

    all: str
    mlp: str


class ChipNetwork:
    """A network on a chip, whose programs follow each other."""

    def __init__(self, device: Device, plan: Plan, step: Step, fidelities: Fidelities, numbers: Numbers) -> None:
        network = plan.network
        assert isinstance(network.attention, Heads)
        self.chip, self.plan, self.step, self.numbers = Chip(device, fidelities.all), plan, step, numbers
        self.network, self.heads, self.fidelities = network, network.attention, fidelities
        self._prepare_ends()
        self.logits = Global(device, ACTIVATIONS, self.head.n * TILE)

    table: Table
    norm: NormWeights
    head: Weights

    def _prepare_ends(self) -> None:
        """Make the weights before the first layer and after the last."""
        network = self.network
        self._prepare_table()
        self.norm = self.make_norm("end", "final_norm")
        place, name = ("start", "embedding") if network.tied else ("end", "lm_head")
        self.head = self.make_weights(place, [(name, network.vocabulary, network.hidden)])

    def _prepare_table(self) -> None:
        vocabulary, d = self.network.vocabulary, self.network.hidden

        def make() -> np.ndarray:
            return self.numbers.matrix("start", "embedding", vocabulary, d) * np.float32(self.network.embedding_scale)

        self.table = Table(self.chip, vocabulary, d, make)

    def launch(self) -> None:
        """The programs of a step."""
        raise NotImplementedError

    def _launch_end(self, x: Shards, normed: Shards) -> None:
        """The logits of what lies over the cores."""
        self.chip.section = "output"
        normalise(x, self.norm, normed)
        multiply("lm_head", normed, self.head, self.logits)

    def make_weights(
        self, place: str, parts: list[tuple[str, int, int]], bias: bool = False, sizes: Sizes | None = None
    ) -> Weights:
        """A matrix that has the outputs of some, one after the other; heads are put in the order of attention."""
        outputs, features = sum(out for _, out, _ in parts), parts[0][2]
        biases = partial(self.make_bias, place, parts, sizes) if bias else None
        make: list[Callable[[], np.ndarray]] = [partial(self.make_matrix, place, parts, sizes)]
        return Weights(self.chip, features, outputs, format_of(self.step.types.weights), make, biases)

    def make_matrix(self, place: str, parts: list[tuple[str, int, int]], sizes: Sizes | None) -> np.ndarray:
        """(features, outputs)"""
        found = [
            order_heads(self.numbers.matrix(place, name, out, features), name, sizes) for name, out, features in parts
        ]
        return np.concatenate(found).T

    def make_bias(self, place: str, parts: list[tuple[str, int, int]], sizes: Sizes | None) -> np.ndarray:
        """(outputs,)"""
        found = [order_heads(self.numbers.vector(place, f"{name}.bias", out), name, sizes) for name, out, _ in parts]
        return np.concatenate(found)

    def make_norm(self, place: str, name: str) -> NormWeights:
        """The weights of a norm of the network's kind."""
        network, d = self.network, self.network.hidden
        shift = partial(self.numbers.vector, place, f"{name}.shift", d) if network.norms.kind == "layer" else None
        return NormWeights(self.chip, d, partial(self.numbers.vector, place, name, d, 1.0), shift)

    def find_sizes(self, kind: LayerKind) -> Sizes:
        (part,) = self.step.parts
        heads, network = self.heads, self.network
        context = min(part.context, kind.window or part.context)
        group = heads.queries // heads.keys
        return Sizes(part.count, heads.keys, group, heads.size, context, network.rotary, part.before)

    def draw_cache(self, place: str, name: str, sizes: Sizes) -> np.ndarray:
        return self.numbers.draw(place, name, (sizes.keys, sizes.sequences, sizes.context - 1, sizes.size))


def order_heads(outputs: np.ndarray, name: str, sizes: Sizes | None) -> np.ndarray:
    """Outputs of queries or keys with the features of each head in the order of attention; others as they are."""
    if sizes is None or name == "v":
        return outputs
    shape = outputs.shape
    return outputs.reshape(-1, sizes.size, *shape[1:])[:, sizes.order()].reshape(shape)


def kernel_of(activation: str) -> str:
    """The activation, as kernels know it, of one of a config."""
    return "gelu" if activation.startswith("gelu") else activation
