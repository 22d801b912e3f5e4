"""A step of decode of a whole network on a chip: embedding, layers, output, each a few programs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from kernbench.tanto.api import Global
from kernbench.tanto.device import Device
from kernbench.tanto.tiles import SIDE
from kernbench.workloads.architecture import LayerKind
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.step import Step
from kernbench.workloads.tensix.attention import Cache, attend, make_constants
from kernbench.workloads.tensix.checks import format_of
from kernbench.workloads.tensix.chip import Shards, parts_of
from kernbench.workloads.tensix.linear import Weights, multiply
from kernbench.workloads.tensix.network import ChipNetwork, Fidelities, kernel_of
from kernbench.workloads.tensix.rows import NormWeights, embed, normalise, relayout

ROOM = 8  # tiles on each core beyond its own columns, since a product makes some columns at a time


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


class Decoder(ChipNetwork):
    """A decoder on a chip: all tensors are made first, then the programs of a step follow each other."""

    def __init__(self, device: Device, plan: Plan, step: Step, fidelities: Fidelities, numbers: Numbers) -> None:
        super().__init__(device, plan, step, fidelities, numbers)
        network, e = plan.network, self.heads.size
        width = parts_of(network.hidden, SIDE)
        self.layers = [(f"layer {at}", self._layer(f"{at}", kind)) for at, kind in plan.list_layers()]
        self.x, self.other, self.normed = (self.chip.shards(width, ROOM) for _ in range(3))
        rows = parts_of((self.heads.queries + 2 * self.heads.keys) * e, SIDE)
        self.qkv, self.qkv_rows = self.chip.shards(rows, ROOM), self.chip.shards(rows)
        attended = parts_of(self.heads.queries * e, SIDE)
        self.attended_rows, self.attended = self.chip.shards(attended), self.chip.shards(attended)
        self.inner = self.chip.shards(parts_of(network.mlp.inner, SIDE), ROOM)

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
        self._launch_end(self.x, self.normed)

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
            name, self.normed, layer.up, self.inner, activation=kernel_of(mlp.activation), fidelity=self.fidelities.mlp
        )
        multiply("down", self.inner, layer.down, y, added=x)

    def _launch_parallel(self, layer: Layer) -> None:
        """x += attention and MLP of one norm of x, or of two."""
        self._attend(layer, self.x, self.other)
        if self.network.norms.per_layer > 1:
            normalise(self.x, layer.mlp_norm, self.normed)
        self._run_mlp(layer, self.other, self.x)

    def _layer(self, place: str, kind: LayerKind) -> Layer:
        network, heads, d = self.network, self.heads, self.network.hidden
        mlp, sizes = network.mlp, self.find_sizes(kind)
        queries, keys = heads.queries * heads.size, heads.keys * heads.size
        inputs = ["gate", "up"] if mlp.gated else ["up"]
        drawn = [partial(self.draw_cache, place, name, sizes) for name in ("keys", "values")]
        types = self.step.types
        return Layer(
            kind,
            self.make_norm(place, "input_norm"),
            self.make_norm(place, "mlp_norm" if network.norms.per_layer > 1 else "input_norm"),
            self.make_weights(place, [("q", queries, d), ("k", keys, d), ("v", keys, d)], heads.bias, sizes),
            self.make_weights(place, [("o", d, queries)], heads.out_bias),
            Weights(
                self.chip,
                d,
                mlp.inner,
                format_of(types.mlp or types.weights),
                [partial(self.make_matrix, place, [(name, mlp.inner, d)], None) for name in inputs],
                partial(self.make_bias, place, [("up", mlp.inner, d)], None) if mlp.bias else None,
            ),
            self.make_weights(place, [("down", d, mlp.inner)], mlp.bias),
            Cache(self.chip, sizes, format_of(types.cache), *drawn),
            make_constants(self.chip, sizes),
        )
