"""A step of an encoder on a chip: whole sentences, or images as patches, from first input to last output."""

from __future__ import annotations

from functools import partial

import numpy as np

from kernbench.tanto.device import Device
from kernbench.tanto.tiles import SIDE
from kernbench.workloads.architecture import LayerKind
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.plan import Plan
from kernbench.workloads.step import Step
from kernbench.workloads.tensix.chip import parts_of
from kernbench.workloads.tensix.linear import multiply
from kernbench.workloads.tensix.network import Fidelities
from kernbench.workloads.tensix.prefill import PromptDecoder
from kernbench.workloads.tensix.rows import normalise
from kernbench.workloads.tensix.tensors import Tensor, add, make_rows, normalise_rows, pick_tokens


class TextEncoder(PromptDecoder):
    """An encoder of text whose norms follow the sums of blocks and their inputs, as BERT's; a pooler reads the first tokens."""

    def _prepare_ends(self) -> None:
        d = self.network.hidden
        self._prepare_table()
        self.head = self.make_weights("end", [("pooler", d, d)], bias=True)

    def _embed(self) -> Tensor:
        return normalise_rows(self.make_norm("start", "embedding_norm"), PromptDecoder._embed(self))

    def _launch_layer(self, place: str, kind: LayerKind, x: Tensor) -> Tensor:
        x = normalise_rows(self.make_norm(place, "attention_after"), self._attend(place, kind, x, x))
        return normalise_rows(self.make_norm(place, "mlp_after"), self._run_mlp(place, x, x))

    def _launch_output(self, x: Tensor) -> None:
        (part,) = self.step.parts
        first = self.chip.shards(parts_of(self.network.hidden, SIDE))
        pick_tokens(self.chip, x, part.count, part.tokens, 0, first)
        multiply("pooler", first, self.head, self.logits, activation="tanh")


class ImageEncoder(PromptDecoder):
    """An encoder of images, as ViT: patches become tokens by a product, and a class token before them gives the classes.

    The class token passes that product as a patch of zeros.
    """

    def _prepare_ends(self) -> None:
        network = self.network
        assert network.patches is not None
        self.norm = self.make_norm("end", "final_norm")
        self.head = self.make_weights("end", [("classes", network.patches.classes, network.hidden)], bias=True)

    def _embed(self) -> Tensor:
        (part,), patches = self.step.parts, self.network.patches
        assert patches is not None
        features, rows = patches.channels * patches.patch**2, parts_of(part.tokens, SIDE)
        pixels = make_rows(self.chip, partial(self._draw_pixels, rows), rows * part.count, parts_of(features, SIDE))
        x = self._multiply("patches", "start", pixels, [("patches", self.network.hidden, features)])
        return add(self.chip, "positions", x, self._make_places())

    def _draw_pixels(self, rows: int) -> np.ndarray:
        """float32[token, pixel of a patch]: images, each with a patch of zeros before its own, filled up to whole tiles."""
        (part,), patches = self.step.parts, self.network.patches
        assert patches is not None
        pixels = self.numbers.draw("start", "pixels", (part.count, part.tokens, patches.channels * patches.patch**2))
        pixels[:, 0] = 0
        return np.pad(pixels, ((0, 0), (0, rows * SIDE - part.tokens), (0, 0))).reshape(-1, pixels.shape[2])

    def _make_places(self) -> Tensor:
        """Positions, with the bias of patches; of the class token itself."""
        (part,), network, numbers = self.step.parts, self.network, self.numbers

        def make() -> np.ndarray:
            places = numbers.matrix("start", "positions", network.positions, network.hidden).copy()
            places[0] += numbers.vector("start", "class_token", network.hidden)
            places[1:] += numbers.vector("start", "patches.bias", network.hidden)
            return places

        return make_rows(self.chip, make, parts_of(part.tokens, SIDE), parts_of(network.hidden, SIDE))

    def _launch_output(self, x: Tensor) -> None:
        (part,) = self.step.parts
        first, normed = (self.chip.shards(parts_of(self.network.hidden, SIDE)) for _ in range(2))
        pick_tokens(self.chip, x, part.count, part.tokens, 0, first)
        normalise(first, self.norm, normed)
        multiply("classes", normed, self.head, self.logits)


def make_prompt(device: Device, plan: Plan, step: Step, fidelities: Fidelities, numbers: Numbers) -> PromptDecoder:
    """The network of a step of many tokens."""
    network = plan.network
    kind = PromptDecoder if network.causal else ImageEncoder if network.patches else TextEncoder
    return kind(device, plan, step, fidelities, numbers)
