"""A step of an encoder on a rank: whole sentences, or images as patches, from first input to last output."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.architecture import Patches
from kernbench.workloads.kernels.panels import Copies
from kernbench.workloads.numbers import Numbers
from kernbench.workloads.sip.projection import Part, Projection
from kernbench.workloads.sip.prompt import PromptDecoder

if TYPE_CHECKING:
    from kernbench.host.torch.tensor import Tensor
    from kernbench.workloads.sip.experts import ExpertsBlock
    from kernbench.workloads.sip.layer import AttentionBlock, MlpBlock


class TextEncoder(PromptDecoder):
    """An encoder of text whose norms follow the sums of blocks and their inputs, as BERT's; a pooler reads the first tokens."""

    def list_read(self) -> np.ndarray:
        """As of `PromptDecoder`: the first tokens."""
        part = self.rank.step.parts[0]
        return np.arange(part.count) * part.tokens

    def _prepare_ends(self) -> None:
        PromptDecoder._prepare_ends(self)
        self.types = self._table("token_types", self.rank.network.token_types)
        self.embedded = self.rank.norm("start", "embedding_norm")

    def _list_tables(self) -> tuple[list[Tensor], list[list[int]]]:
        tables, ids = PromptDecoder._list_tables(self)
        return [*tables, self.types], [*ids, [0] * self.rank.tokens]

    def _embed(self) -> None:
        PromptDecoder._embed(self)
        self.rank.normalise(self.x, self.embedded, self.rank.normal, whole=self.x)

    def _add(self, block: AttentionBlock | MlpBlock | ExpertsBlock, name: str) -> None:
        """x = the norm of x and the block of x; products read its copies."""
        rank = self.rank
        if self.part is None:
            block.launch(rank.normal, self.x, self.x)
        else:
            block.launch(rank.normal, self.part, 0)
            rank.add_parts(name, self.x, self.part)
        after = getattr(block, "after")  # noqa: B009
        with rank.operator("norm"):
            rank.normalise(self.x, after, rank.normal, whole=self.x)

    def _prepare_output(self) -> None:
        d, last = self.rank.network.hidden, self.last
        self.head = Projection(last, "end", [Part("pooler", d, d, last.share(d), bias=True)])
        self.logits = last.activation("pooled", self.head.rows)

    def _output(self) -> None:
        with self.last.operator("pooler"):
            self._read_last()
            self.last.multiply("pooler", self.read, [self.head], self.logits, activation="tanh")


class ImageEncoder(PromptDecoder):
    """An encoder of images, as ViT: patches become tokens by a product, and a class token before them gives the classes.

    The class token passes that product as a patch of zeros.
    """

    def list_read(self) -> np.ndarray:
        """As of `PromptDecoder`: the class tokens."""
        part = self.rank.step.parts[0]
        return np.arange(part.count) * part.tokens

    def _prepare_ends(self) -> None:
        self._prepare_picks()
        rank, network = self.rank, self.rank.network
        patches, d = network.patches, network.hidden
        assert patches is not None
        count = rank.step.sequences
        features = patches.channels * patches.patch**2
        self.patches = Projection(rank, "start", [Part("patches", d, features, slice(None), bias=True)])
        one_copy = Copies((0, rank.tokens), rank.torch.cubes_per_sip)
        self.pixels = rank.lay("pixels", features, lambda: draw_pixels(rank.numbers, patches, count), rank.copies)
        self.places = rank.lay("positions", d, self._make_places, one_copy)

    def _make_places(self) -> np.ndarray:
        """float32[hidden, token]: positions; of class tokens the token too, without the bias of patches."""
        network, numbers, part = self.rank.network, self.rank.numbers, self.rank.step.parts[0]
        places = numbers.matrix("start", "positions", network.positions, network.hidden).copy()
        places[0] += numbers.vector("start", "class_token", network.hidden)
        places[0] -= numbers.vector("start", "patches.bias", network.hidden)
        return np.tile(places, (part.count, 1)).T

    def _embed(self) -> None:
        self.rank.multiply("patches", self.pixels, [self.patches], self.x, residual=self.places)

    def _prepare_output(self) -> None:
        network, last = self.rank.network, self.last
        assert network.patches is not None
        classes = network.patches.classes
        part = Part("classes", classes, network.hidden, last.share(classes), bias=True)
        self.head = Projection(last, "end", [part], last.norm("end", "final_norm"))
        self.logits = last.activation("classes", self.head.rows)

    def _output(self) -> None:
        with self.last.operator("classes"):
            self._read_last()
            self.last.multiply("classes", self.read, [self.head], self.logits)


def draw_pixels(numbers: Numbers, patches: Patches, images: int) -> np.ndarray:
    """float32[pixel of a patch, token]: images, each with a patch of zeros before its own."""
    pixels = numbers.draw("start", "pixels", (images, patches.tokens, patches.channels * patches.patch**2))
    pixels[:, 0] = 0
    return pixels.reshape(images * patches.tokens, -1).T
