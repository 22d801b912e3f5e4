"""Operators of elements: each is steps of functions that kernels have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import log, sqrt
from typing import TYPE_CHECKING, Any

from kernbench.workloads.graph.form import Step
from kernbench.workloads.graph.view import View

if TYPE_CHECKING:
    from kernbench.workloads.onnx_files.reader import Node, Reader, Translate

Attributes = Any
LOG2E = 1 / log(2.0)
RELU: tuple[Step, ...] = (("max", 0, 0.0),)
GELU: tuple[Step, ...] = (("mul", 0, sqrt(0.5)), ("erf", 1), ("add", 2, 1.0), ("mul", 0, 3), ("mul", 4, 0.5))
GELU_TANH: tuple[Step, ...] = (
    ("mul", 0, 0), ("mul", 1, 0), ("mul", 2, 0.044715), ("add", 0, 3), ("mul", 4, sqrt(8 / 3.141592653589793)),
    ("sigmoid", 5), ("mul", 0, 6),
)  # fmt: skip  # (1 + tanh(u)) / 2 is the logistic function of 2 u
SILU: tuple[Step, ...] = (("sigmoid", 0), ("mul", 0, 1))
_SOFTPLUS: tuple[Step, ...] = (("exp", 0), ("add", 1, 1.0), ("log", 2))


def _steps(make: Callable[[Node], Sequence[Step]]) -> Translate:
    """An operator of one operand; `make` gives its steps by its attributes."""

    def translate(reader: Reader, node: Node) -> list[View]:
        return [reader.build.elementwise(make(node), [reader.view(node, 0)])]

    return translate


def _plain(*steps: Step) -> Translate:
    return _steps(lambda _: steps)


def _binary(function: str, dtype: str | None = None) -> Translate:
    def translate(reader: Reader, node: Node) -> list[View]:
        return [reader.build.elementwise(((function, 0, 1),), [reader.view(node, at) for at in (0, 1)], dtype)]

    return translate


def _many(function: str, mean: bool = False) -> Translate:
    """An operator of any number of operands, in turn."""

    def translate(reader: Reader, node: Node) -> list[View]:
        total = reader.view(node, 0)
        for at in range(1, len(node.inputs)):
            total = reader.build.elementwise(((function, 0, 1),), [total, reader.view(node, at)])
        if mean or len(node.inputs) == 1:
            total = reader.build.elementwise((("mul", 0, 1.0 / len(node.inputs)),), [total])
        return [total]

    return translate


def _pow(reader: Reader, node: Node) -> list[View]:
    exponent = reader.known.get(node.inputs[1])
    if exponent is not None and exponent.size == 1:
        steps: tuple[Step, ...] = (("pow", 0, float(exponent.reshape(-1)[0])),)
        return [reader.build.elementwise(steps, [reader.view(node, 0)])]
    return [reader.build.elementwise((("pow", 0, 1),), [reader.view(node, 0), reader.view(node, 1)])]


def _clip(reader: Reader, node: Node) -> list[View]:
    steps: list[Step] = []
    for function, at, attribute in (("max", 1, "min"), ("min", 2, "max")):
        if reader.has(node, at):
            bound: float | None = float(reader.numbers(node, at).reshape(-1)[0])
        else:
            bound = node.attributes.get(attribute)
        if bound is not None:
            steps.append((function, len(steps), float(bound)))
    return [reader.build.elementwise(steps, [reader.view(node, 0)])]


def _leaky(node: Node) -> Sequence[Step]:
    slope = float(node.attributes.get("alpha", 0.01))
    return (("mul", 0, slope), ("greater_equal", 0, 0.0), ("where", 2, 0, 1))


def _prelu(reader: Reader, node: Node) -> list[View]:
    steps: tuple[Step, ...] = (("mul", 0, 1), ("greater_equal", 0, 0.0), ("where", 3, 0, 2))
    return [reader.build.elementwise(steps, [reader.view(node, 0), reader.view(node, 1)])]


def _elu(node: Node, alpha: float | None = None, gamma: float = 1.0) -> Sequence[Step]:
    scale = float(node.attributes.get("alpha", 1.0)) if alpha is None else alpha
    return (
        ("min", 0, 0.0), ("exp", 1), ("sub", 2, 1.0), ("mul", 3, scale), ("greater", 0, 0.0), ("where", 5, 0, 4),
        ("mul", 6, gamma),
    )  # fmt: skip


def _selu(node: Node) -> Sequence[Step]:
    return _elu(node, float(node.attributes.get("alpha", 1.67326319)), float(node.attributes.get("gamma", 1.05070102)))


def _hard_sigmoid(node: Node) -> Sequence[Step]:
    alpha, beta = float(node.attributes.get("alpha", 0.2)), float(node.attributes.get("beta", 0.5))
    return (("mul", 0, alpha), ("add", 1, beta), ("max", 2, 0.0), ("min", 3, 1.0))


def _gelu(node: Node) -> Sequence[Step]:
    return GELU if node.choose("approximate", "none", ("none", "tanh")) == "none" else GELU_TANH


def _swish(node: Node) -> Sequence[Step]:
    return (("mul", 0, float(node.attributes.get("alpha", 1.0))), ("sigmoid", 1), ("mul", 0, 2))


def _where(reader: Reader, node: Node) -> list[View]:
    views = [reader.view(node, at) for at in range(3)]
    return [reader.build.elementwise((("where", 0, 1, 2),), views, reader.build.dtype(views[1]))]


def _cast(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    element = int(node.attributes["to"]) if node.op == "Cast" else reader.element(node.inputs[1])
    dtype = reader.dtype(node.outputs[0], element)
    return [x] if reader.build.keeps(x, dtype) else [reader.build.elementwise((), [x], dtype)]


def _dequantize(reader: Reader, node: Node) -> list[View]:
    """(x - zero) x scale, along an axis or of all elements."""
    x, scale = reader.view(node, 0), _along_axis(reader, node, 1)
    steps: list[Step] = [("mul", 0, 1)]
    operands = [x, scale]
    if reader.has(node, 2):
        operands.append(_along_axis(reader, node, 2))
        steps = [("sub", 0, 2), ("mul", 3, 1)]
    return [reader.build.elementwise(steps, operands, reader.build.dtype(scale))]


def _quantize(reader: Reader, node: Node) -> list[View]:
    """x / scale to the next whole number, plus zero, within the type."""
    x, scale = reader.view(node, 0), _along_axis(reader, node, 1)
    dtype = reader.build.dtype(reader.view(node, 2)) if reader.has(node, 2) else "u8"
    if dtype not in ("u8", "i8"):
        raise node.error(f"makes {dtype}; known: i8, u8")
    low, high = (0.0, 255.0) if dtype == "u8" else (-128.0, 127.0)
    steps: list[Step] = [("div", 0, 1), ("add", 2, 0.5), ("floor", 3)]
    operands = [x, scale]
    if reader.has(node, 2):
        operands.append(_along_axis(reader, node, 2))
        steps = [("div", 0, 1), ("add", 3, 0.5), ("floor", 4), ("add", 5, 2)]
    last = len(operands) + len(steps) - 1
    return [reader.build.elementwise([*steps, ("max", last, low), ("min", last + 1, high)], operands, dtype)]


def _along_axis(reader: Reader, node: Node, at: int) -> View:
    """A scale as it broadcasts to the first input."""
    one, x = reader.view(node, at), reader.view(node, 0)
    if one.elements == 1:
        return one._replace(shape=(), strides=())
    if len(one.shape) != 1 or node.attributes.get("block_size"):
        raise node.error("has scales by blocks; scales of a tensor or along an axis are known")
    axis = int(node.attributes.get("axis", 1)) % len(x.shape)
    shape = [1] * len(x.shape)
    shape[axis] = one.shape[0]
    return one.reshape(shape) or one


def _bias_gelu(reader: Reader, node: Node) -> list[View]:
    shifted = reader.view(node, 0)
    if reader.has(node, 1):
        shifted = reader.build.elementwise((("add", 0, 1),), [shifted, reader.view(node, 1)])
    return [reader.build.elementwise(GELU if node.op == "BiasGelu" else GELU_TANH, [shifted])]


def _quick_gelu(node: Node) -> Sequence[Step]:
    return (("mul", 0, float(node.attributes.get("alpha", 1.702))), ("sigmoid", 1), ("mul", 0, 2))


ELEMENTS: dict[str, Translate] = {
    "Add": _binary("add"), "Sub": _binary("sub"), "Mul": _binary("mul"), "Div": _binary("div"), "Pow": _pow,
    "Max": _many("max"), "Min": _many("min"), "Sum": _many("add"), "Mean": _many("add", mean=True),
    "Equal": _binary("equal", "bool"), "Greater": _binary("greater", "bool"), "Less": _binary("less", "bool"),
    "GreaterOrEqual": _binary("greater_equal", "bool"), "LessOrEqual": _binary("less_equal", "bool"),
    "And": _binary("and", "bool"), "Or": _binary("or", "bool"), "Not": _plain(("not", 0)),
    "Relu": _plain(*RELU), "Sigmoid": _plain(("sigmoid", 0)), "Tanh": _plain(("tanh", 0)), "Erf": _plain(("erf", 0)),
    "Sqrt": _plain(("sqrt", 0)), "Exp": _plain(("exp", 0)), "Log": _plain(("log", 0)), "Abs": _plain(("abs", 0)),
    "Neg": _plain(("neg", 0)), "Floor": _plain(("floor", 0)), "Ceil": _plain(("ceil", 0)), "Sin": _plain(("sin", 0)),
    "Cos": _plain(("cos", 0)), "Reciprocal": _plain(("div", 1.0, 0)), "Softplus": _plain(*_SOFTPLUS),
    "Softsign": _plain(("abs", 0), ("add", 1, 1.0), ("div", 0, 2)),
    "Mish": _plain(*_SOFTPLUS, ("tanh", 3), ("mul", 0, 4)),
    "HardSwish": _plain(("mul", 0, 1 / 6), ("add", 1, 0.5), ("max", 2, 0.0), ("min", 3, 1.0), ("mul", 0, 4)),
    "LeakyRelu": _steps(_leaky), "PRelu": _prelu, "Elu": _steps(_elu), "HardSigmoid": _steps(_hard_sigmoid),
    "Selu": _steps(_selu),
    "Gelu": _steps(_gelu), "Swish": _steps(_swish), "Clip": _clip, "Where": _where, "Cast": _cast, "CastLike": _cast,
    "QuantizeLinear": _quantize, "DequantizeLinear": _dequantize,
}  # fmt: skip
CONTRIB_ELEMENTS: dict[str, Translate] = {
    "BiasGelu": _bias_gelu, "FastGelu": _bias_gelu, "QuickGelu": _steps(_quick_gelu), "Gelu": _plain(*GELU),
}  # fmt: skip
