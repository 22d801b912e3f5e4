"""Makes graphs: each method adds at most one operator for each that it names, and returns the view of the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from kernbench.dtypes import is_float
from kernbench.workloads.graph.form import (
    Along,
    Elements,
    Gathered,
    Graph,
    Operator,
    Product,
    Spec,
    Step,
    Value,
    Windowed,
)
from kernbench.workloads.graph.view import View, merge_axes, whole

Pair = tuple[int, int]
_ROWS = 3  # axes of the rows of a product
_ALONG_FLOPS = {"softmax": 5, "log_softmax": 5, "layer_norm": 8, "rms_norm": 4}  # operations an element, others 1


class Builder:
    """A graph under construction. `nodes` are the names of the file's nodes that the next operators are of."""

    def __init__(self, name: str, weights: str = "", activations: str = "") -> None:
        self.graph = Graph(name)
        self.nodes: tuple[str, ...] = ()
        self._weights, self._activations = weights, activations

    # Values

    def input(self, name: str, shape: Sequence[int], dtype: str) -> View:
        """A tensor that is there before the run; images lie with their channels last."""
        order = channels_last(len(shape)) if len(shape) == 4 else None
        view = self._value(name, shape, dtype, order)
        self.graph.inputs[name] = view
        return view

    def constant(
        self, name: str, shape: Sequence[int], dtype: str, numbers: Callable[[], np.ndarray] | None = None
    ) -> View:
        """A weight, row by row; `numbers` are there if the file has them."""
        kind = dtype if not is_float(dtype) else (self._weights if len(shape) > 1 else self._activations) or dtype
        self.graph.values[name] = Value(name, tuple(shape), kind, True, numbers)
        return whole(name, shape)

    def output(self, name: str, view: View) -> None:
        """Say that a view is what the network gives."""
        self.graph.outputs[name] = view

    def dtype(self, view: View) -> str:
        """The type of the elements of a view."""
        return self.graph.values[view.base].dtype

    def keeps(self, view: View, dtype: str) -> bool:
        """Whether elements of a view already have the type that activations of another have."""
        return self.dtype(view) == ((self._activations or dtype) if is_float(dtype) else dtype)

    def _value(self, name: str, shape: Sequence[int], dtype: str, order: Sequence[int] | None) -> View:
        kind = (self._activations or dtype) if is_float(dtype) else dtype
        order = tuple(order) if order is not None else tuple(range(len(shape)))
        self.graph.values[name] = Value(name, tuple(shape[axis] for axis in order) or (1,), kind)
        return whole(name, shape, order)

    def result(self, shape: Sequence[int], dtype: str, order: Sequence[int] | None = None) -> View:
        """A new tensor that operators write."""
        return self._value(f"t{len(self.graph.values)}", shape, dtype, order)

    # Operators

    def convolve(
        self,
        x: View,
        w: View,
        bias: View | None,
        *,
        steps: Pair,
        before: Pair,
        after: Pair,
        dilations: Pair,
        groups: int,
    ) -> View:
        """(n, c, h, w) by (m, c / groups, kh, kw): channels of a group of one channel are vector work."""
        n, channels, high, wide = x.shape
        m, inner, *taps = w.shape
        kh, kw = taps
        out = [
            (size + before[at] + after[at] - dilations[at] * (taps[at] - 1) - 1) // steps[at] + 1
            for at, size in enumerate((high, wide))
        ]
        y = self.result((n, m, *out), self.dtype(x), channels_last(4))
        pixels = y.transpose((0, 2, 3, 1))
        flops = 2 * pixels.elements * inner * kh * kw
        if inner == 1 and groups == channels == m:
            window = Windowed("weighted", (kh, kw), steps, dilations, before)
            taps_last = w.transpose((2, 3, 0, 1)).slice(3, 0, 1)
            given = (
                x.transpose((0, 2, 3, 1)),
                taps_last._replace(shape=taps_last.shape[:3], strides=taps_last.strides[:3]),
            )
            self._add("convolution", window, given, pixels, flops)
        else:
            grouped = _split_axis(x.transpose((0, 2, 3, 1)), 3, groups)
            matrix = _split_axis(w, 0, groups).transpose((0, 3, 4, 2, 1))
            matrix = matrix.broadcast((n, out[0], *matrix.shape))
            spec = Product((kh, kw), steps, dilations, before)
            self._add("convolution", spec, (grouped, matrix), _split_axis(pixels, 3, groups), flops)
        return y if bias is None else self.elementwise([("add", 0, 1)], [y, bias.reshape((1, m, 1, 1)) or bias])

    def matmul(self, a: View, b: View, order: Sequence[int] | None = None) -> View:
        """As numpy's matmul; `order` is that of the axes of the result in memory."""
        if len(a.shape) == 1 or len(b.shape) == 1:
            lone = [len(one.shape) == 1 for one in (a, b)]
            a = self.reshape(a, (1, *a.shape)) if lone[0] else a
            b = self.reshape(b, (*b.shape, 1)) if lone[1] else b
            y = self.matmul(a, b)
            kept = [size for at, size in enumerate(y.shape) if not (lone[0] and at == len(y.shape) - 2)]
            return self.reshape(y, kept[:-1] if lone[1] else kept)
        outer = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        (m, k), n = a.shape[-2:], b.shape[-1]
        y = self.result((*outer, m, n), self.dtype(a), order)
        a, b = a.broadcast((*outer, m, k)), b.broadcast((*outer, k, n))
        alike = prod(outer) > 1 and any(stride for stride, size in zip(b.strides, outer, strict=False) if size > 1)
        split = len(outer) if alike else len(outer) + 1  # axes that are rows of one product each
        views = [_without_last(a, 1 if not alike else 2), _without_last(y, 1 if not alike else 2)]
        if alike:
            views.append(_without_last(b, 2))
        rows = merge_axes(views, y.shape[:split])
        if len(rows) > _ROWS - alike:
            return self.matmul(self.copy(a), self.copy(b) if alike else b)
        sizes = [1] * (_ROWS - alike - len(rows)) + [size for size, _ in rows]
        each = [[0] * (_ROWS - alike - len(rows)) + [one[1][at] for one in rows] for at in range(len(views))]
        if alike:
            sizes.append(m)
            each[0].append(a.strides[-2])
            each[1].append(y.strides[-2])
        x5 = a._replace(shape=(*sizes, 1, k), strides=(*each[0], 0, a.strides[-1]))
        y5 = y._replace(shape=(*sizes, 1, n), strides=(*each[1], 0, y.strides[-1]))
        along_rows = each[2] if alike else [0, 0]
        w7 = b._replace(shape=(*sizes[:2], 1, 1, 1, k, n), strides=(*along_rows, 0, 0, 0, *b.strides[-2:]))
        self._add("product", Product(), (x5, w7), y5, 2 * y.elements * k)
        return y

    def pool(self, x: View, spec: Windowed, out: Pair) -> View:
        """A window over (n, c, h, w)."""
        y = self.result((*x.shape[:2], *out), self.dtype(x), channels_last(4))
        last = (0, 2, 3, 1)
        self._add("pool", spec, (x.transpose(last),), y.transpose(last), y.elements * prod(spec.taps))
        return y

    def along(self, x: View, axes: Sequence[int], function: str, eps: float = 0.0, kind: str = "") -> View:
        """A function along axes; a reduction leaves one element of each."""
        axes = sorted(axis % len(x.shape) for axis in axes)
        others = [axis for axis in range(len(x.shape)) if axis not in axes]
        reduces = function not in _ALONG_FLOPS
        shape = [1 if reduces and axis in axes else size for axis, size in enumerate(x.shape)]
        length = prod(x.shape[axis] for axis in axes)
        rows = x.transpose([*others, *axes]).reshape([*(x.shape[axis] for axis in others), length])
        if rows is None:
            return self.along(self.copy(x, [*others, *axes]), axes, function, eps, kind)
        y = self.result(shape, self.dtype(x), _order_of(x))
        to = y.transpose([*others, *axes]).reshape([*(x.shape[axis] for axis in others), 1 if reduces else length])
        assert to is not None, "the result lies as its operand"
        self._add(kind or "reduction", Along(function, eps), (rows,), to, x.elements * _ALONG_FLOPS.get(function, 1))
        return y

    def elementwise(
        self, steps: Sequence[Step], operands: Sequence[View], dtype: str | None = None, kind: str = "elementwise"
    ) -> View:
        """Steps of elements of views, which broadcast; without steps the first, copied or converted."""
        shape = np.broadcast_shapes(*(one.shape for one in operands))
        widest = max(operands, key=lambda one: one.elements)
        order = _order_of(widest) if widest.shape == shape else None
        y = self.result(shape, dtype or self.dtype(operands[0]), order)
        views = tuple(one.broadcast(shape) for one in operands)
        self._add(kind, Elements(), (), y, len(steps) * y.elements, views, tuple(steps))
        return y

    def copy(self, x: View, order: Sequence[int] | None = None) -> View:
        """The same elements in memory of their own, row by row unless an order of axes says otherwise."""
        y = self.result(x.shape, self.dtype(x), order)
        self._add("move", Elements(), (), y, 0, (x,))
        return y

    def move(self, x: View, to: View) -> None:
        """Write elements to where another view has them."""
        self._add("move", Elements(), (), to, 0, (x,))

    def gather(self, table: View, rows: Sequence[int]) -> View:
        """Rows of a table along its first axis."""
        y = self.result((len(rows), *table.shape[1:]), self.dtype(table))
        if whole(table.base, table.shape).strides != table.strides:
            table = self.copy(table)
        made = self.graph.values[y.base]
        if converted := made.dtype != self.dtype(table):  # rows are read as they are
            self.graph.values[y.base] = replace(made, dtype=self.dtype(table))
        self._add("gather", Gathered(tuple(rows)), (table,), y, 0)
        return self.copy(y) if converted else y

    def reshape(self, x: View, shape: Sequence[int]) -> View:
        """Another shape; moves elements only where strides do not allow it."""
        return x.reshape(shape) or self.copy(x)._replace(**_rows(shape))

    def _add(
        self,
        kind: str,
        spec: Spec,
        inputs: tuple[View, ...],
        output: View,
        flops: int,
        extras: tuple[View, ...] = (),
        steps: tuple[Step, ...] = (),
    ) -> None:
        dtype = self.dtype(output)
        made = Operator(kind, self.nodes or (kind,), spec, inputs, output, dtype, extras, steps, flops)
        self.graph.operators.append(made)


def channels_last(axes: int) -> tuple[int, ...]:
    """The order of (n, c, ...) in memory with the channels last."""
    return (0, *range(2, axes), 1)


def _order_of(view: View) -> tuple[int, ...]:
    """The axes of a view by their strides, the longest first."""
    return tuple(sorted(range(len(view.shape)), key=lambda axis: (-abs(view.strides[axis]), axis)))


def _split_axis(view: View, axis: int, parts: int) -> View:
    """An axis as (parts, rest)."""
    size, stride = view.shape[axis] // parts, view.strides[axis]
    shape = (*view.shape[:axis], parts, size, *view.shape[axis + 1 :])
    return view._replace(shape=shape, strides=(*view.strides[:axis], stride * size, *view.strides[axis:]))


def _without_last(view: View, axes: int) -> View:
    return view._replace(shape=view.shape[:-axes], strides=view.strides[:-axes])


def _rows(shape: Sequence[int]) -> dict[str, tuple[int, ...]]:
    found = whole("", shape)
    return {"shape": found.shape, "strides": found.strides}
