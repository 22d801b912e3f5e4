"""Layers: convolutions, products, pools and reductions."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from kernbench.workloads.graph.form import Step, Windowed
from kernbench.workloads.graph.view import View
from kernbench.workloads.onnx_files.elements import RELU
from kernbench.workloads.onnx_files.shapes import order_for

if TYPE_CHECKING:
    from kernbench.workloads.onnx_files.reader import Node, Reader, Translate

_PLANE = 2  # axes of an image


def _as_plane(x: View, node: Node) -> View:
    """(n, c, h, w); a line has one row."""
    if len(x.shape) == _PLANE + 1:
        return x._replace(shape=(*x.shape[:2], 1, x.shape[2]), strides=(*x.strides[:2], 0, x.strides[2]))
    if len(x.shape) != _PLANE + 2:
        raise node.error(f"works on {len(x.shape) - 2} axes; lines and planes are modelled")
    return x


def _as_given(y: View, x: View) -> View:
    """The result of a plane as a line if the operand was one."""
    if len(x.shape) == len(y.shape):
        return y
    return y._replace(shape=(*y.shape[:2], y.shape[3]), strides=(*y.strides[:2], y.strides[3]))


def _pair(node: Node, name: str, default: int, axes: int) -> tuple[int, int]:
    found = [int(one) for one in node.attributes.get(name) or [default] * axes]
    return (found[0], found[1]) if axes == _PLANE else (default, found[0])


def _find_window(node: Node, x: View, taps: tuple[int, int], axes: int) -> dict[str, tuple[int, int]]:
    """Steps, dilations and edges of a window over (n, c, h, w)."""
    steps, dilations = _pair(node, "strides", 1, axes), _pair(node, "dilations", 1, axes)
    auto = node.choose("auto_pad", "NOTSET", ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"))
    pads = [int(one) for one in node.attributes.get("pads") or [0] * 2 * axes]
    if axes < _PLANE:
        pads = [0, pads[0], 0, pads[1]]
    if auto.startswith("SAME"):
        missing = [
            max(
                0,
                (-(-x.shape[at + 2] // steps[at]) - 1) * steps[at]
                + dilations[at] * (taps[at] - 1)
                + 1
                - x.shape[at + 2],
            )
            for at in range(_PLANE)
        ]
        short = [one // 2 for one in missing]
        long = [one - half for one, half in zip(missing, short, strict=True)]
        pads = [*short, *long] if auto == "SAME_UPPER" else [*long, *short]
    return {"steps": steps, "dilations": dilations, "before": (pads[0], pads[1]), "after": (pads[2], pads[3])}


def _conv(reader: Reader, node: Node) -> list[View]:
    x, w = reader.view(node, 0), reader.view(node, 1)
    plane, taps = _as_plane(x, node), _as_plane(w, node)
    groups = int(node.attributes.get("group", 1))
    if plane.shape[1] != taps.shape[1] * groups or taps.shape[0] % groups:
        raise node.error(
            f"has {plane.shape[1]} channels, weights {list(w.shape)} and {groups} groups, which contradict each other"
        )
    window = _find_window(node, plane, (taps.shape[2], taps.shape[3]), len(x.shape) - 2)
    y = reader.build.convolve(plane, taps, reader.optional(node, 2), groups=groups, **window)
    if node.op == "FusedConv":
        node.choose("activation", "Relu", ("Relu",))
        operands = [y, _as_plane(reader.view(node, 3), node)] if reader.has(node, 3) else [y]
        steps: list[Step] = [("add", 0, 1), ("max", 2, 0.0)] if len(operands) > 1 else [*RELU]
        y = reader.build.elementwise(steps, operands)
    return [_as_given(y, x)]


def _matmul(reader: Reader, node: Node) -> list[View]:
    a, b = reader.view(node, 0), reader.view(node, 1)
    if a.shape[-1] != b.shape[-2 if len(b.shape) > 1 else 0]:
        raise node.error(f"multiplies {list(a.shape)} by {list(b.shape)}, which contradict each other")
    axes = max(len(a.shape), len(b.shape))
    return [reader.build.matmul(a, b, order_for(reader, node, axes) if min(len(a.shape), len(b.shape)) > 1 else None)]


def _fused_matmul(reader: Reader, node: Node) -> list[View]:
    views = [reader.view(node, at) for at in (0, 1)]
    for at, name in enumerate(("transA", "transB")):
        node.choose(name.replace("trans", "transBatch"), 0, (0,))
        if node.attributes.get(name):
            views[at] = _swap(views[at])
    y = reader.build.matmul(views[0], views[1])
    alpha = float(node.attributes.get("alpha", 1.0))
    return [y if alpha == 1.0 else reader.build.elementwise((("mul", 0, alpha),), [y])]


def _swap(x: View) -> View:
    axes = list(range(len(x.shape)))
    return x.transpose([*axes[:-2], axes[-1], axes[-2]])


def _gemm(reader: Reader, node: Node) -> list[View]:
    a, b = reader.view(node, 0), reader.view(node, 1)
    a, b = (_swap(one) if node.attributes.get(name) else one for one, name in ((a, "transA"), (b, "transB")))
    y = reader.build.matmul(a, b)
    alpha, beta = float(node.attributes.get("alpha", 1.0)), float(node.attributes.get("beta", 1.0))
    steps: list[Step] = [] if alpha == 1.0 else [("mul", 0, alpha)]
    operands = [y]
    if reader.has(node, 2) and beta:
        operands.append(reader.view(node, 2))
        steps = [(one[0], 0, alpha) for one in steps]
        scaled: int = 1
        if beta != 1.0:
            steps.append(("mul", 1, beta))
            scaled = 1 + len(steps)
        steps.append(("add", 2 if alpha != 1.0 else 0, scaled))
    return [reader.build.elementwise(steps, operands) if steps else y]


def _einsum(reader: Reader, node: Node) -> list[View]:
    """Of two operands without repeated letters, as transposes and one product."""
    text = str(node.attributes["equation"]).replace(" ", "")
    left, arrow, out = text.partition("->")
    terms = left.split(",")
    if not arrow or len(terms) != 2 or "." in text or any(len(set(one)) < len(one) for one in (*terms, out)):
        raise node.error(
            f"has the equation {text!r}; two operands with an arrow and without repeated letters or dots are modelled"
        )
    a, b = reader.view(node, 0), reader.view(node, 1)
    sizes = dict(zip("".join(terms), (*a.shape, *b.shape), strict=True))
    batch = [one for one in out if one in terms[0] and one in terms[1]]
    inner = [one for one in terms[0] if one in terms[1] and one not in out]
    rows, cols = ([one for one in out if one in term and one not in batch] for term in terms)
    if any(one not in [*batch, *inner, *mine] for term, mine in zip(terms, (rows, cols), strict=True) for one in term):
        raise node.error(f"sums over letters of one operand alone in {text!r}; reduce them before")

    def bring(x: View, term: str, order: list[list[str]]) -> View:
        turned = x.transpose([term.index(one) for part in order for one in part])
        return reader.build.reshape(
            turned, [*(sizes[one] for one in batch), *(prod(sizes[one] for one in part) for part in order[1:])]
        )

    y = reader.build.matmul(bring(a, terms[0], [batch, rows, inner]), bring(b, terms[1], [batch, inner, cols]))
    letters = [*batch, *rows, *cols]
    y = reader.build.reshape(y, [sizes[one] for one in letters])
    return [y.transpose([letters.index(one) for one in out])]


# Pools, reductions, softmax


def _pool(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    plane, axes = _as_plane(x, node), len(x.shape) - 2
    taps = _pair(node, "kernel_shape", 1, axes)
    window = _find_window(node, plane, taps, axes)
    rounds_up = node.choose("ceil_mode", 0, (0, 1))
    out: list[int] = []
    for at in range(_PLANE):
        whole = (
            plane.shape[at + 2]
            + window["before"][at]
            + window["after"][at]
            - window["dilations"][at] * (taps[at] - 1)
            - 1
        )
        steps = window["steps"][at]
        count = (-(-whole // steps) if rounds_up else whole // steps) + 1
        if rounds_up and (count - 1) * steps >= plane.shape[at + 2] + window["before"][at]:
            count -= 1  # a window does not begin behind the input
        out.append(count)
    counts = bool(node.attributes.get("count_include_pad", 0))
    if counts and rounds_up:
        raise node.error("has ceil_mode=1 and count_include_pad=1; one of both is modelled")
    function = "max" if node.op == "MaxPool" else "mean"
    spec = Windowed(function, taps, window["steps"], window["dilations"], window["before"], counts)
    return [_as_given(reader.build.pool(plane, spec, (out[0], out[1])), x)]


def _global_pool(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    function = "max" if node.op == "GlobalMaxPool" else "mean"
    return [reader.build.along(x, list(range(2, len(x.shape))), function, kind="pool")]


def _reduce(function: str, before: tuple[Step, ...] = (), after: tuple[Step, ...] = ()) -> Translate:
    def translate(reader: Reader, node: Node) -> list[View]:
        x = reader.view(node, 0)
        axes = reader.listed(node, 1, "axes") or []
        if not axes and node.attributes.get("noop_with_empty_axes"):
            return [x]
        axes = [one % len(x.shape) for one in axes] or list(range(len(x.shape)))
        if before:
            x = reader.build.elementwise(before, [x])
        y = reader.build.along(x, axes, function)
        if after:
            y = reader.build.elementwise(after, [y])
        if node.attributes.get("keepdims", 1):
            return [y]
        return [y.transpose([at for at in range(len(y.shape)) if at not in axes])]

    return translate


def _softmax(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    function = "softmax" if node.op == "Softmax" else "log_softmax"
    flattens = reader.opset < 13  # then all axes from `axis` on are one
    axis = int(node.attributes.get("axis", 1 if flattens else -1)) % len(x.shape)
    return [reader.build.along(x, list(range(axis, len(x.shape))) if flattens else [axis], function, kind="softmax")]


_SQUARE: tuple[Step, ...] = (("mul", 0, 0),)
LAYERS: dict[str, Translate] = {
    "Conv": _conv, "MatMul": _matmul, "Gemm": _gemm, "Einsum": _einsum, "MaxPool": _pool, "AveragePool": _pool,
    "GlobalAveragePool": _global_pool, "GlobalMaxPool": _global_pool, "ReduceMean": _reduce("mean"),
    "ReduceSum": _reduce("sum"), "ReduceMax": _reduce("max"), "ReduceMin": _reduce("min"),
    "ReduceSumSquare": _reduce("sum", _SQUARE), "ReduceL2": _reduce("sum", _SQUARE, (("sqrt", 0),)), "Softmax": _softmax,
    "LogSoftmax": _softmax,
}  # fmt: skip
CONTRIB_LAYERS: dict[str, Translate] = {"FusedConv": _conv, "FusedMatMul": _fused_matmul}
