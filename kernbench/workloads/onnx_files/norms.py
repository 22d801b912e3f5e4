"""Norms: functions along axes with a scale and a shift, and those whose statistics are constants."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernbench.workloads.graph.form import Step, Windowed
from kernbench.workloads.graph.view import View

if TYPE_CHECKING:
    from kernbench.workloads.onnx_files.reader import Node, Reader, Translate


def _batch_norm(reader: Reader, node: Node) -> list[View]:
    """Scale and shift of each channel; its statistics are constants of the file."""
    node.choose("training_mode", 0, (0,))
    x = reader.view(node, 0)
    shape = (1, x.shape[1], *[1] * (len(x.shape) - 2))
    eps = float(node.attributes.get("epsilon", 1e-5))
    numbers = [reader.known.get(node.inputs[at]) for at in range(1, 5)]
    for at, name in enumerate(("scale", "shift")):
        held = f"{node.outputs[0]}.{name}"
        element = reader.element(node.inputs[1])
        if all(one is not None for one in numbers):
            gain = numbers[0] / (numbers[3] + eps) ** 0.5  # type: ignore[operator]
            made = gain if not at else numbers[1] - numbers[2] * gain  # type: ignore[operator]
            reader.constant(held, made.shape, element, made.astype(numbers[0].dtype))  # type: ignore[union-attr]
        else:
            reader.constant(held, (x.shape[1],), element, None)
    views = [reader.views[f"{node.outputs[0]}.{name}"].reshape(shape) for name in ("scale", "shift")]
    return [reader.build.elementwise((("mul", 0, 1), ("add", 3, 2)), [x, *(one for one in views if one is not None)])]


def normalise(
    reader: Reader, x: View, axes: list[int], function: str, eps: float, scale: View | None, shift: View | None
) -> View:
    """A norm, its scale and its shift."""
    y = reader.build.along(x, axes, function, eps, "norm")
    operands = [one for one in (scale, shift) if one is not None]
    if not operands:
        return y
    steps: list[Step] = [("mul", 0, 1)] if scale is not None else []
    if shift is not None:
        steps.append(("add", len(operands) + 1 if scale is not None else 0, len(operands)))
    return reader.build.elementwise(steps, [y, *operands])


def _layer_norm(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    axis = int(node.attributes.get("axis", -1)) % len(x.shape)
    function = "layer_norm" if node.op == "LayerNormalization" else "rms_norm"
    eps = float(node.attributes.get("epsilon", 1e-5))
    return [
        normalise(
            reader, x, list(range(axis, len(x.shape))), function, eps, reader.view(node, 1), reader.optional(node, 2)
        )
    ]


def _joined_norm(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    return [
        normalise(reader, x, list(node.attributes["axes"]), "layer_norm", float(node.attributes["epsilon"]), None, None)
    ]


def _skip_norm(reader: Reader, node: Node) -> list[View]:
    """A sum, and the norm of it: (y, -, -, sum)."""
    operands = [reader.view(node, at) for at in (0, 1)]
    layer = node.op == "SkipLayerNormalization"
    bias = reader.optional(node, 4 if layer else 3)
    total = reader.build.elementwise((("add", 0, 1),), operands)
    if bias is not None:
        total = reader.build.elementwise((("add", 0, 1),), [total, bias])
    eps = float(node.attributes.get("epsilon", 1e-12))
    shift = reader.optional(node, 3) if layer else None
    function = "layer_norm" if layer else "rms_norm"
    y = normalise(reader, total, [-1], function, eps, reader.view(node, 2), shift)
    return [y, y, y, total]


def _instance_norm(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    shape = (1, x.shape[1], *[1] * (len(x.shape) - 2))
    scale, shift = (reader.view(node, at).reshape(shape) for at in (1, 2))
    eps = float(node.attributes.get("epsilon", 1e-5))
    return [normalise(reader, x, list(range(2, len(x.shape))), "layer_norm", eps, scale, shift)]


def _group_norm(reader: Reader, node: Node) -> list[View]:
    x, groups = reader.view(node, 0), int(node.attributes["num_groups"])
    n, c, *space = x.shape
    parts = reader.build.reshape(x, (n, groups, c // groups, *space))
    eps = float(node.attributes.get("epsilon", 1e-5))
    y = reader.build.along(parts, list(range(2, len(parts.shape))), "layer_norm", eps, "norm")
    y = reader.build.reshape(y, x.shape)
    given = [reader.view(node, at) for at in (1, 2)]
    if given[0].shape[0] == groups != c:
        spread = [
            one._replace(shape=(groups, 1), strides=(one.strides[0], 0)).broadcast((groups, c // groups))
            for one in given
        ]
        given = [reader.build.reshape(one, (c,)) for one in spread]
    scale, shift = (one.reshape((1, c, *[1] * len(space))) for one in given)
    assert scale is not None
    assert shift is not None
    return [reader.build.elementwise((("mul", 0, 1), ("add", 3, 2)), [y, scale, shift])]


def _lrn(reader: Reader, node: Node) -> list[View]:
    """x / (bias + alpha / size x sum of squares over channels) ^ beta: a mean of a window along the channels."""
    x, size = reader.view(node, 0), int(node.attributes["size"])
    squares = reader.build.elementwise((("mul", 0, 0),), [x])
    pixels = squares.transpose((0, 2, 3, 1))
    lines = pixels._replace(
        shape=(pixels.shape[0], pixels.shape[1] * pixels.shape[2], pixels.shape[3], 1),
        strides=(pixels.strides[0], pixels.strides[2], pixels.strides[3], 0),
    )
    window = Windowed("mean", (1, size), (1, 1), (1, 1), (0, (size - 1) // 2), True)
    n, c, h, w = x.shape
    means = reader.build.pool(lines.transpose((0, 3, 1, 2)), window, (h * w, c))
    back = reader.build.reshape(means.transpose((0, 2, 3, 1)), (n, h, w, c)).transpose((0, 3, 1, 2))
    alpha, beta = float(node.attributes.get("alpha", 1e-4)), float(node.attributes.get("beta", 0.75))
    steps: list[Step] = [
        ("mul", 1, alpha),
        ("add", 2, float(node.attributes.get("bias", 1.0))),
        ("pow", 3, -beta),
        ("mul", 0, 4),
    ]
    return [reader.build.elementwise(steps, [x, back])]


NORMS: dict[str, Translate] = {
    "BatchNormalization": _batch_norm, "LayerNormalization": _layer_norm, "RMSNormalization": _layer_norm,
    "SimplifiedLayerNormalization": _layer_norm, "InstanceNormalization": _instance_norm, "GroupNormalization": _group_norm,
    "LRN": _lrn,
}  # fmt: skip
JOINED_NORMS: dict[str, Translate] = {"LayerNorm": _joined_norm}
CONTRIB_NORMS: dict[str, Translate] = {
    "SkipLayerNormalization": _skip_norm, "SkipSimplifiedLayerNormalization": _skip_norm,
}  # fmt: skip
