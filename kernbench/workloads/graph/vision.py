"""Convolutional networks by their sizes: residual networks with bottlenecks, and networks of inverted residuals.

Sources: K. He et al., "Deep Residual Learning for Image Recognition", arXiv 1512.03385, table 1, with the step of a stage in
its 3 x 3 convolution as in torchvision; M. Sandler et al., "MobileNetV2", arXiv 1801.04381, table 2. Batch norms are folded
into the convolutions before them, as exporters do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernbench.errors import InputError, shorten, suggest
from kernbench.workloads.graph.builder import Builder
from kernbench.workloads.graph.form import Graph, Step, Windowed
from kernbench.workloads.graph.view import View

RELU: tuple[Step, ...] = (("max", 0, 0.0),)
RELU6: tuple[Step, ...] = (("max", 0, 0.0), ("min", 1, 6.0))
_EXPANSION = 4  # outputs of a bottleneck beside its inner channels


class _Images:
    """Makes the layers of a network of images; each is named by its place."""

    def __init__(self, builder: Builder, steps: tuple[Step, ...], dtype: str) -> None:
        self.builder, self._steps, self._dtype = builder, steps, dtype

    def convolve(
        self, name: str, x: View, out: int, taps: int, step: int = 1, groups: int = 1, active: bool = True
    ) -> View:
        """A convolution with its bias, and the activation of the network."""
        builder, channels = self.builder, x.shape[1]
        builder.nodes = (name,)
        w = builder.constant(f"{name}.weight", (out, channels // groups, taps, taps), self._dtype)
        bias = builder.constant(f"{name}.bias", (out,), self._dtype)
        edge = (taps // 2, taps // 2)
        y = builder.convolve(x, w, bias, steps=(step, step), before=edge, after=edge, dilations=(1, 1), groups=groups)
        return builder.elementwise(self._steps, [y]) if active else y

    def add(self, name: str, x: View, y: View, steps: tuple[Step, ...] = ()) -> View:
        """A sum, and steps behind it."""
        self.builder.nodes = (name,)
        return self.builder.elementwise((("add", 0, 1), *shift_results(steps)), [x, y])

    def classify(self, x: View, classes: int) -> View:
        """The mean of each channel, and a matrix."""
        builder = self.builder
        builder.nodes = ("pool",)
        mean = builder.along(x, (2, 3), "mean", kind="pool")
        builder.nodes = ("classifier",)
        w = builder.constant("classifier.weight", (classes, x.shape[1]), self._dtype)
        bias = builder.constant("classifier.bias", (classes,), self._dtype)
        y = builder.matmul(builder.reshape(mean, mean.shape[:2]), w.transpose((1, 0)))
        return builder.elementwise((("add", 0, 1),), [y, bias])


def shift_results(steps: Sequence[Step]) -> list[Step]:
    """Steps of one operand as those that follow a first step of two."""
    return [(step[0], *(one + 2 if isinstance(one, int) else one for one in step[1:])) for step in steps]


def resnet(builder: Builder, batch: int, sizes: Mapping[str, Any]) -> None:
    """A residual network: `stages` are the blocks of each."""
    made = _Images(builder, RELU, sizes["dtype"])
    x = builder.input("images", (batch, 3, sizes["image"], sizes["image"]), sizes["dtype"])
    x = made.convolve("stem", x, sizes["width"], 7, 2)
    builder.nodes = ("maxpool",)
    half = (x.shape[2] - 1) // 2 + 1
    x = builder.pool(x, Windowed("max", (3, 3), (2, 2), (1, 1), (1, 1)), (half, half))
    for stage, blocks in enumerate(sizes["stages"]):
        inner = sizes["width"] << stage
        for block in range(blocks):
            place, step = f"stage{stage + 1}.{block}", 2 if stage and not block else 1
            y = made.convolve(f"{place}.conv1", x, inner, 1)
            y = made.convolve(f"{place}.conv2", y, inner, 3, step)
            y = made.convolve(f"{place}.conv3", y, inner * _EXPANSION, 1, active=False)
            if not block:
                x = made.convolve(f"{place}.shortcut", x, inner * _EXPANSION, 1, step, active=False)
            x = made.add(f"{place}.add", y, x, RELU)
    builder.output("classes", made.classify(x, sizes["classes"]))


def mobilenet(builder: Builder, batch: int, sizes: Mapping[str, Any]) -> None:
    """Inverted residuals: `blocks` are (expansion, channels, repeats, step) of each group."""
    made = _Images(builder, RELU6, sizes["dtype"])
    x = builder.input("images", (batch, 3, sizes["image"], sizes["image"]), sizes["dtype"])
    x = made.convolve("stem", x, sizes["width"], 3, 2)
    for group, (expansion, channels, repeats, first_step) in enumerate(sizes["blocks"]):
        for repeat in range(repeats):
            place, step, inner = f"block{group + 1}.{repeat}", 1 if repeat else first_step, x.shape[1] * expansion
            y = made.convolve(f"{place}.expand", x, inner, 1) if expansion > 1 else x
            y = made.convolve(f"{place}.depthwise", y, inner, 3, step, groups=inner)
            y = made.convolve(f"{place}.project", y, channels, 1, active=False)
            x = made.add(f"{place}.add", y, x) if step == 1 and channels == x.shape[1] else y
    x = made.convolve("head", x, sizes["last"], 1)
    builder.output("classes", made.classify(x, sizes["classes"]))


FAMILIES: dict[str, tuple[Callable[[Builder, int, Mapping[str, Any]], None], tuple[str, ...]]] = {
    "resnet": (resnet, ("image", "width", "stages", "classes", "dtype")),
    "mobilenet": (mobilenet, ("image", "width", "blocks", "last", "classes", "dtype")),
}


def build(name: str, data: Mapping[str, Any], batch: int, weights: str = "", activations: str = "") -> Graph:
    """The graph of a description. Errors: InputError for a family that is not known, or other sizes than it has."""
    family = data.get("family")
    if family not in FAMILIES:
        raise InputError(f"{name} has graph family {shorten(repr(family))}{suggest(str(family), FAMILIES)}")
    make, sizes = FAMILIES[family]
    if set(data) != {"family", *sizes}:
        raise InputError(f"{name} has graph sizes {', '.join(data)}; give {', '.join(('family', *sizes))}")
    builder = Builder(name, weights, activations)
    make(builder, batch, data)
    builder.graph.batch = batch
    return builder.graph
