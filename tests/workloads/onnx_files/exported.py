"""Graphs as exporters write them: residual networks, MobileNetV2, BERT, ViT and GPT-2, with drawn weights or without any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Exporter:
    """Makes a model node by node. Without numbers initializers are external data that is not there."""

    def __init__(self, opset: int, numbers: bool, dtype: str = "f32") -> None:
        self.opset, self.numbers = opset, numbers
        self.dtype = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16}[dtype]
        self.nodes: list[onnx.NodeProto] = []
        self.held: list[onnx.TensorProto] = []
        self.inputs: list[onnx.ValueInfoProto] = []
        self._rng = np.random.default_rng(5)

    def input(self, name: str, shape: Sequence[int | str], dtype: int | None = None) -> str:
        self.inputs.append(helper.make_tensor_value_info(name, dtype or self.dtype, shape))
        return name

    def weight(self, *shape: int, around: float = 0.0, scale: float | None = None) -> str:
        name = f"w{len(self.held)}"
        if self.numbers:
            deviation = scale if scale is not None else max(1, int(np.prod(shape[1:]))) ** -0.5
            drawn = self._rng.standard_normal(shape) * deviation + around
            self.held.append(numpy_helper.from_array(drawn.astype(helper.tensor_dtype_to_np_dtype(self.dtype)), name))
            return name
        tensor = onnx.TensorProto(name=name, data_type=self.dtype, dims=shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="weights.bin")
        self.held.append(tensor)
        return name

    def constant(self, *values: float, dtype: Any = np.int64, scalar: bool = False) -> str:
        array = np.array(values[0] if scalar else values, dtype)
        return self("Constant", value=numpy_helper.from_array(array))

    def number(self, value: float) -> str:
        return self.constant(value, dtype=helper.tensor_dtype_to_np_dtype(self.dtype), scalar=True)

    def __call__(self, op: str, *inputs: str, domain: str = "", count: int = 1, **attributes: Any) -> Any:
        place = len(self.nodes)
        outputs = [f"v{place}" + (f"_{at}" if at else "") for at in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, f"/{op}_{place}", domain=domain, **attributes))
        return outputs[0] if count == 1 else outputs

    def model(self, output: str, shape: Sequence[int | str]) -> onnx.ModelProto:
        outputs = [helper.make_tensor_value_info(output, self.dtype, shape)]
        graph = helper.make_graph(self.nodes, "exported", self.inputs, outputs, self.held)
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=imports, producer_name="exporter")


def save(model: onnx.ModelProto, path: Path) -> str:
    onnx.save(model, str(path))
    return str(path)


def _conv(e: Exporter, x: str, c: int, out: int, taps: int, step: int = 1, groups: int = 1, norm: bool = False) -> str:
    pads = {"kernel_shape": [taps, taps], "strides": [step, step], "pads": [taps // 2] * 4, "group": groups}
    if not norm:
        return e("Conv", x, e.weight(out, c // groups, taps, taps), e.weight(out, scale=0.1), **pads)
    y = e("Conv", x, e.weight(out, c // groups, taps, taps), **pads)
    scale, variance = e.weight(out, around=1.0, scale=0.1), e.weight(out, around=1.0, scale=0.05)
    return e("BatchNormalization", y, scale, e.weight(out, scale=0.1), e.weight(out, scale=0.1), variance)


def resnet(
    stages: Sequence[int] = (3, 4, 6, 3), bottleneck: bool = True, *, image: int = 224, width: int = 64, classes: int = 1000,
    numbers: bool = False, norm: bool = False, dtype: str = "f32",
) -> onnx.ModelProto:  # fmt: skip
    """ResNet-50, or with other stages and basic blocks ResNet-18."""
    e = Exporter(17, numbers, dtype)
    x = e.input("images", ("batch", 3, image, image))
    x = e("Relu", _conv(e, x, 3, width, 7, 2, norm=norm))
    x, c = e("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4), width
    for stage, blocks in enumerate(stages):
        inner = width << stage
        out = inner * 4 if bottleneck else inner
        for block in range(blocks):
            step = 2 if stage and not block else 1
            if bottleneck:
                y = e("Relu", _conv(e, x, c, inner, 1, norm=norm))
                y = e("Relu", _conv(e, y, inner, inner, 3, step, norm=norm))
                y = _conv(e, y, inner, out, 1, norm=norm)
            else:
                y = e("Relu", _conv(e, x, c, inner, 3, step, norm=norm))
                y = _conv(e, y, inner, inner, 3, norm=norm)
            short = x if step == 1 and c == out else _conv(e, x, c, out, 1, step, norm=norm)
            x, c = e("Relu", e("Add", y, short)), out
    x = e("Flatten", e("GlobalAveragePool", x), axis=1)
    return e.model(e("Gemm", x, e.weight(classes, c), e.weight(classes, scale=0.1), transB=1), ("batch", classes))


MOBILENET = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))


def mobilenet(
    *, image: int = 224, numbers: bool = False, blocks: Any = MOBILENET, dtype: str = "f32"
) -> onnx.ModelProto:
    """MobileNetV2; each Clip has its bounds as constants of its own."""
    e = Exporter(14, numbers, dtype)

    def clip(x: str) -> str:
        return e("Clip", x, e.number(0.0), e.number(6.0))

    x, c = clip(_conv(e, e.input("images", ("batch", 3, image, image)), 3, 32, 3, 2)), 32
    for expansion, out, repeats, first in blocks:
        for repeat in range(repeats):
            step, inner = 1 if repeat else first, c * expansion
            y = clip(_conv(e, x, c, inner, 1)) if expansion > 1 else x
            y = clip(_conv(e, y, inner, inner, 3, step, groups=inner))
            y = _conv(e, y, inner, out, 1)
            x, c = (e("Add", x, y) if step == 1 and c == out else y), out
    x = clip(_conv(e, x, c, 1280, 1))
    x = e("Flatten", e("GlobalAveragePool", x), axis=1)
    return e.model(e("Gemm", x, e.weight(1000, 1280), e.weight(1000, scale=0.1), transB=1), ("batch", 1000))


class Encoder:
    """The layers of a transformer, decomposed as opsets before 17 are, or with fused operators."""

    def __init__(self, e: Exporter, d: int, heads: int, inner: int, decomposed: bool) -> None:
        self.e, self.d, self.heads, self.inner, self.decomposed = e, d, heads, inner, decomposed

    def norm(self, x: str) -> str:
        e = self.e
        scale, shift = e.weight(self.d, around=1.0, scale=0.1), e.weight(self.d, scale=0.1)
        if not self.decomposed:
            return e("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)
        centred = e("Sub", x, e("ReduceMean", x, axes=[-1]))
        square = e("Pow", centred, e.number(2.0))
        root = e("Sqrt", e("Add", e("ReduceMean", square, axes=[-1]), e.number(1e-5)))
        return e("Add", e("Mul", e("Div", centred, root), scale), shift)

    def linear(self, x: str, features: int, out: int) -> str:
        y = self.e("MatMul", x, self.e.weight(features, out, scale=features**-0.5))
        return self.e("Add", y, self.e.weight(out, scale=0.1))

    def gelu(self, x: str) -> str:
        e = self.e
        if not self.decomposed:
            return e("Gelu", x)
        erf = e("Add", e("Erf", e("Div", x, e.number(2**0.5))), e.number(1.0))
        return e("Mul", e("Mul", x, erf), e.number(0.5))

    def attend(self, x: str, mask: str = "") -> str:
        """The shape is computed from that of the input, as exporters do."""
        e, size = self.e, self.d // self.heads
        shape = e("Shape", x)
        ends = [e("Unsqueeze", e("Gather", shape, e.constant(at, scalar=True), axis=0), e.constant(0)) for at in (0, 1)]
        parted = e("Concat", *ends, e.constant(self.heads), e.constant(size), axis=0)
        q, k, v = (e("Reshape", self.linear(x, self.d, self.d), parted) for _ in range(3))
        q, v = (e("Transpose", one, perm=[0, 2, 1, 3]) for one in (q, v))
        scores = e("Div", e("MatMul", q, e("Transpose", k, perm=[0, 2, 3, 1])), e.number(size**0.5))
        if mask:
            scores = e("Add", scores, mask)
        y = e("Transpose", e("MatMul", e("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        whole = e("Concat", *ends, e.constant(self.d), axis=0)
        return self.linear(e("Reshape", y, whole), self.d, self.d)

    def mlp(self, x: str) -> str:
        return self.linear(self.gelu(self.linear(x, self.d, self.inner)), self.inner, self.d)


def bert(
    layers: int = 12, d: int = 768, heads: int = 12, inner: int = 3072, vocabulary: int = 30522, *, decomposed: bool = True,
    numbers: bool = False, dtype: str = "f32",
) -> onnx.ModelProto:  # fmt: skip
    """BERT without its pooler: a norm after each block."""
    e = Exporter(14 if decomposed else 20, numbers, dtype)
    ids = e.input("input_ids", ("batch", "sequence"), TensorProto.INT64)
    given = e.input("attention_mask", ("batch", "sequence"), TensorProto.INT64)
    kinds = e.input("token_type_ids", ("batch", "sequence"), TensorProto.INT64)
    mask = e("Cast", e("Unsqueeze", given, e.constant(1, 2)), to=e.dtype)
    mask = e("Mul", e("Sub", e.number(1.0), mask), e.number(-1000.0))
    layer = Encoder(e, d, heads, inner, decomposed)
    length = e("Gather", e("Shape", ids), e.constant(1, scalar=True), axis=0)
    places = e("Range", e.constant(0, scalar=True), length, e.constant(1, scalar=True))
    x = e("Add", e("Gather", e.weight(vocabulary, d), ids), e("Gather", e.weight(2, d), kinds))
    x = layer.norm(e("Add", x, e("Gather", e.weight(512, d), places)))
    for _ in range(layers):
        x = layer.norm(e("Add", x, layer.attend(x, mask)))
        x = layer.norm(e("Add", x, layer.mlp(x)))
    return e.model(x, ("batch", "sequence", d))


def vit(
    layers: int = 12, d: int = 768, heads: int = 12, inner: int = 3072, *, image: int = 224, patch: int = 16,
    classes: int = 1000, decomposed: bool = True, numbers: bool = False, dtype: str = "f32",
) -> onnx.ModelProto:  # fmt: skip
    """A vision transformer: patches by a convolution, a class token, a norm before each block."""
    e = Exporter(14 if decomposed else 20, numbers, dtype)
    images = e.input("pixel_values", ("batch", 3, image, image))
    x = e(
        "Conv",
        images,
        e.weight(d, 3, patch, patch),
        e.weight(d, scale=0.1),
        kernel_shape=[patch] * 2,
        strides=[patch] * 2,
    )
    batch = e("Unsqueeze", e("Gather", e("Shape", images), e.constant(0, scalar=True), axis=0), e.constant(0))
    x = e("Transpose", e("Reshape", x, e.constant(0, d, -1)), perm=[0, 2, 1])
    token = e("Expand", e.weight(1, 1, d), e("Concat", batch, e.constant(1), e.constant(d), axis=0))
    tokens = (image // patch) ** 2 + 1
    x = e("Add", e("Concat", token, x, axis=1), e.weight(1, tokens, d, scale=0.1))
    layer = Encoder(e, d, heads, inner, decomposed)
    for _ in range(layers):
        x = e("Add", x, layer.attend(layer.norm(x)))
        x = e("Add", x, layer.mlp(layer.norm(x)))
    first = e("Gather", layer.norm(x), e.constant(0, scalar=True), axis=1)
    return e.model(e("Gemm", first, e.weight(classes, d), e.weight(classes, scale=0.1), transB=1), ("batch", classes))


def gpt2(
    layers: int = 12, d: int = 768, heads: int = 12, vocabulary: int = 50257, *, tokens: int = 64, numbers: bool = False,
    dtype: str = "f32",
) -> onnx.ModelProto:  # fmt: skip
    """GPT-2: Gemm between reshapes, Split, a causal mask by Where, gelu_new, and a cache behind which new keys are put."""
    e, size = Exporter(14, numbers, dtype), d // heads
    ids = e.input("input_ids", ("batch", tokens), TensorProto.INT64)
    layer = Encoder(e, d, heads, 4 * d, decomposed=True)
    x = e("Add", e("Gather", e.weight(vocabulary, d), ids), e("Gather", e.weight(1024, d), e.constant(*range(tokens))))
    past = [e.input(f"past_{name}", ("batch", heads, "past", size)) for name in ("key", "value")]

    def conv1d(x: str, features: int, out: int) -> str:
        w, bias = e.weight(features, out, scale=features**-0.5), e.weight(out, scale=0.1)
        y = e("Gemm", e("Reshape", x, e.constant(-1, features)), w, bias)
        return e("Reshape", y, e.constant(-1, tokens, out))

    def gelu_new(x: str) -> str:
        inner = e("Add", x, e("Mul", e("Pow", x, e.number(3.0)), e.number(0.044715)))
        tanh = e("Tanh", e("Mul", inner, e.number((2 / np.pi) ** 0.5)))
        return e("Mul", e("Mul", x, e.number(0.5)), e("Add", tanh, e.number(1.0)))

    for _ in range(layers):
        y = conv1d(layer.norm(x), d, 3 * d)
        q, k, v = e("Split", y, e.constant(d, d, d), count=3, axis=2)
        q, k, v = (
            e("Transpose", e("Reshape", one, e.constant(0, 0, heads, size)), perm=[0, 2, 1, 3]) for one in (q, k, v)
        )
        k, v = (e("Concat", old, new, axis=2) for old, new in zip(past, (k, v), strict=True))
        scores = e("Div", e("MatMul", q, e("Transpose", k, perm=[0, 1, 3, 2])), e.number(size**0.5))
        total = e("Gather", e("Shape", k), e.constant(2, scalar=True), axis=0)
        sides = e("Concat", *[e("Unsqueeze", total, e.constant(0))] * 2, axis=0)
        square = e("Trilu", e("Expand", e.constant(True, dtype=bool), sides), upper=0)
        seen = e("Slice", square, e.constant(-tokens), e.constant(2**31 - 1), e.constant(0))
        scores = e("Where", seen, scores, e.number(-1000.0))
        y = e("Transpose", e("MatMul", e("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        x = e("Add", x, conv1d(e("Reshape", y, e.constant(0, 0, d)), d, d))
        x = e("Add", x, conv1d(gelu_new(conv1d(layer.norm(x), d, 4 * d)), 4 * d, d))
    return e.model(e("MatMul", layer.norm(x), e.weight(d, vocabulary)), ("batch", tokens, vocabulary))
