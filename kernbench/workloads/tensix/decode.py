"""A step of decode of a whole network on a chip: embedding, layers, output, each a few programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from kernbench.tanto.api import Global
from kernbench.tanto.device import Device
from kernbench.tanto.tiles import SIDE, TILE
from kernbench.workloads.architecture import Heads, LayerKind
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.step import Step
from kernbench.workloads.tensix.attention import Cache, Sizes, attend, make_constants
from kernbench.workloads.tensix.checks import format_of
from kernbench.workloads.tensix.chip import ACTIVATIONS, Chip, Shards, parts_of
from kernbench.workloads.tensix.linear import Weights, multiply
from kernbench.workloads.tensix.rows import NormWeights, Table, embed, normalise, relayout

ROOM = 8  # tiles on each core beyond its own columns, since a product makes some columns at a time


@dataclass(frozen=True, slots=True)
class Fidelities:
    """Phases of products, as tt-metal names them: of all, and of the first matrices of an MLP."""

    all: str
    mlp: str


@dataclass(slots=True)
class Layer:
    """The weights and the cache of a layer on a chip."""

    kind: LayerKind
    input_norm: NormWeights
    mlp_norm: NormWeights
    qkv: Weights
    out: Weights
    up: Weights
    down: Weights
    cache: Cache
    constants: Global


class Decoder:
    """A decoder on a chip: all tensors are made first, then the programs of a step follow each other."""

    def __init__(self, device: Device, plan: Plan, step: Step, fidelities: Fidelities, numbers: Numbers) -> None:
        network = plan.network
        assert isinstance(network.attention, Heads)
        self.chip, self.plan, self.step, self.numbers = Chip(device, fidelities.all), plan, step, numbers
        self.network, self.heads, self.fidelities = network, network.attention, fidelities
        d, e = network.hidden, self.heads.size
        width = parts_of(d, SIDE)
        self.table = Table(
            self.chip, network.vocabulary, d, partial(numbers.matrix, "start", "embedding", network.vocabulary, d)
        )
        self.layers = [(f"layer {at}", self._layer(f"{at}", kind)) for at, kind in plan.list_layers()]
        self.norm = self._norm("end", "final_norm")
        place, name = ("start", "embedding") if network.tied else ("end", "lm_head")
        self.head = self._weights([place], [(name, network.vocabulary, d)])
        self.x, self.other, self.normed = (self.chip.shards(width, ROOM) for _ in range(3))
        rows = parts_of((self.heads.queries + 2 * self.heads.keys) * e, SIDE)
        self.qkv, self.qkv_rows = self.chip.shards(rows, ROOM), self.chip.shards(rows)
        attended = parts_of(self.heads.queries * e, SIDE)
        self.attended_rows, self.attended = self.chip.shards(attended), self.chip.shards(attended)
        self.inner = self.chip.shards(parts_of(network.mlp.inner, SIDE), ROOM)
        self.logits = Global(device, ACTIVATIONS, self.head.n * TILE)

    def launch(self) -> None:
        """The programs of a step."""
        chip = self.chip
        chip.section = "embedding"
        embed(self.table, self.x, self.step.tokens)
        for section, layer in self.layers:
            chip.section = section
            if self.network.parallel:
                self._launch_parallel(layer)
            else:
                self._attend(layer, self.x, self.other)
                normalise(self.other, layer.mlp_norm, self.normed)
                self._run_mlp(layer, self.other, self.x)
        chip.section = "output"
        normalise(self.x, self.norm, self.normed)
        multiply("lm_head", self.normed, self.head, self.logits)

    def _attend(self, layer: Layer, x: Shards, y: Shards) -> None:
        """y = x + attention of the norm of x."""
        chip = self.chip
        normalise(x, layer.input_norm, self.normed)
        multiply("q, k, v", self.normed, layer.qkv, self.qkv)
        relayout(chip, "heads to rows", self.qkv, self.qkv_rows, to_tiles=False)
        attend(self.qkv_rows, layer.cache, layer.constants, self.attended_rows)
        relayout(chip, "rows to tiles", self.attended_rows, self.attended, to_tiles=True)
        multiply("o", self.attended, layer.out, y, added=x)

    def _run_mlp(self, layer: Layer, x: Shards, y: Shards) -> None:
        """y = x + the MLP of what was normalised."""
        mlp = self.network.mlp
        name = "gate, up" if mlp.gated else "up"
        multiply(
            name, self.normed, layer.up, self.inner, activation=_kernel_of(mlp.activation), fidelity=self.fidelities.mlp
        )
        multiply("down", self.inner, layer.down, y, added=x)

    def _launch_parallel(self, layer: Layer) -> None:
        """x += attention and MLP of one norm of x, or of two."""
        self._attend(layer, self.x, self.other)
        if self.network.norms.per_layer > 1:
            normalise(self.x, layer.mlp_norm, self.normed)
        self._run_mlp(layer, self.other, self.x)

    # Weights

    def _layer(self, place: str, kind: LayerKind) -> Layer:
        network, heads, d = self.network, self.heads, self.network.hidden
        mlp, sizes = network.mlp, self._sizes(kind)
        queries, keys = heads.queries * heads.size, heads.keys * heads.size
        inputs = ["gate", "up"] if mlp.gated else ["up"]
        drawn = [partial(self._draw_cache, place, name, sizes) for name in ("keys", "values")]
        types = self.step.types
        return Layer(
            kind,
            self._norm(place, "input_norm"),
            self._norm(place, "mlp_norm" if network.norms.per_layer > 1 else "input_norm"),
            self._weights([place], [("q", queries, d), ("k", keys, d), ("v", keys, d)], heads.bias, sizes),
            self._weights([place], [("o", d, queries)], heads.out_bias),
            Weights(
                self.chip,
                d,
                mlp.inner,
                format_of(types.mlp or types.weights),
                [partial(self._matrix, place, [(name, mlp.inner, d)], None) for name in inputs],
                partial(self._bias, place, [("up", mlp.inner, d)], None) if mlp.bias else None,
            ),
            self._weights([place], [("down", d, mlp.inner)], mlp.bias),
            Cache(self.chip, sizes, format_of(types.cache), *drawn),
            make_constants(self.chip, sizes),
        )

    def _weights(
        self, place: list[str], parts: list[tuple[str, int, int]], bias: bool = False, sizes: Sizes | None = None
    ) -> Weights:
        """A matrix that has the outputs of some, one after the other; heads are put in the order of attention."""
        (at,) = place
        outputs, features = sum(out for _, out, _ in parts), parts[0][2]
        biases = partial(self._bias, at, parts, sizes) if bias else None
        make: list[Callable[[], np.ndarray]] = [partial(self._matrix, at, parts, sizes)]
        return Weights(self.chip, features, outputs, format_of(self.step.types.weights), make, biases)

    def _matrix(self, place: str, parts: list[tuple[str, int, int]], sizes: Sizes | None) -> np.ndarray:
        """(features, outputs)"""
        found = [
            order_heads(self.numbers.matrix(place, name, out, features), name, sizes) for name, out, features in parts
        ]
        return np.concatenate(found).T

    def _bias(self, place: str, parts: list[tuple[str, int, int]], sizes: Sizes | None) -> np.ndarray:
        """(outputs,)"""
        found = [order_heads(self.numbers.vector(place, f"{name}.bias", out), name, sizes) for name, out, _ in parts]
        return np.concatenate(found)

    def _norm(self, place: str, name: str) -> NormWeights:
        network, d = self.network, self.network.hidden
        shift = partial(self.numbers.vector, place, f"{name}.shift", d) if network.norms.kind == "layer" else None
        return NormWeights(self.chip, d, partial(self.numbers.vector, place, name, d, 1.0), shift)

    def _sizes(self, kind: LayerKind) -> Sizes:
        (part,) = self.step.parts
        heads, network = self.heads, self.network
        context = min(part.context, kind.window or part.context)
        group = heads.queries // heads.keys
        return Sizes(part.count, heads.keys, group, heads.size, context, network.rotary, part.before)

    def _draw_cache(self, place: str, name: str, sizes: Sizes) -> np.ndarray:
        return self.numbers.draw(place, name, (sizes.keys, sizes.sequences, sizes.context - 1, sizes.size))


def order_heads(outputs: np.ndarray, name: str, sizes: Sizes | None) -> np.ndarray:
    """Outputs of queries or keys with the features of each head in the order of attention; others as they are."""
    if sizes is None or name == "v":
        return outputs
    shape = outputs.shape
    return outputs.reshape(-1, sizes.size, *shape[1:])[:, sizes.order()].reshape(shape)


def _kernel_of(activation: str) -> str:
    """The activation, as kernels know it, of one of a config."""
    return "gelu" if activation.startswith("gelu") else activation
