"""Operators of shapes: views where strides allow it, and moves of elements."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.graph.form import Value
from kernbench.workloads.graph.view import View

if TYPE_CHECKING:
    from kernbench.workloads.onnx_files.reader import Node, Reader, Translate

_GOLDEN = 0.618033988749895


def _same(reader: Reader, node: Node) -> list[View]:
    return [reader.view(node, 0)]


def _reshape(reader: Reader, node: Node) -> list[View]:
    x, asked = reader.view(node, 0), [int(one) for one in reader.numbers(node, 1).reshape(-1)]
    if not node.attributes.get("allowzero", 0):
        asked = [x.shape[at] if size == 0 else size for at, size in enumerate(asked)]
    if -1 in asked:
        known = -prod(asked)
        asked[asked.index(-1)] = x.elements // known if known else 0
    return [reader.build.reshape(x, asked)]


def _flatten(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    axis = int(node.attributes.get("axis", 1))
    axis += len(x.shape) if axis < 0 else 0
    return [reader.build.reshape(x, (prod(x.shape[:axis]), prod(x.shape[axis:])))]


def _squeeze(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    given = reader.listed(node, 1, "axes")
    axes = (
        [at for at, size in enumerate(x.shape) if size == 1] if given is None else [one % len(x.shape) for one in given]
    )
    kept = [at for at in range(len(x.shape)) if at not in axes]
    return [x.transpose(kept)]


def _unsqueeze(reader: Reader, node: Node) -> list[View]:
    x, axes = reader.view(node, 0), reader.listed(node, 1, "axes") or []
    total = len(x.shape) + len(axes)
    new = {axis % total for axis in axes}
    shape, strides, old = list[int](), list[int](), iter(zip(x.shape, x.strides, strict=True))
    for at in range(total):
        size, stride = (1, 0) if at in new else next(old)
        shape.append(size)
        strides.append(stride)
    return [x._replace(shape=tuple(shape), strides=tuple(strides))]


def _transpose(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    return [x.transpose(node.attributes.get("perm") or range(len(x.shape))[::-1])]


def _expand(reader: Reader, node: Node) -> list[View]:
    x, asked = reader.view(node, 0), [int(one) for one in reader.numbers(node, 1)]
    return [x.broadcast(np.broadcast_shapes(x.shape, tuple(asked)))]


def _tile(reader: Reader, node: Node) -> list[View]:
    x, repeats = reader.view(node, 0), [int(one) for one in reader.numbers(node, 1)]
    inner = [size for pair in zip([1] * len(x.shape), x.shape, strict=True) for size in pair]
    outer = [size for pair in zip(repeats, x.shape, strict=True) for size in pair]
    strides = tuple(stride for own in x.strides for stride in (0, own))
    spread = x._replace(shape=tuple(inner), strides=strides).broadcast(outer)
    return [reader.build.reshape(spread, [a * b for a, b in zip(repeats, x.shape, strict=True)])]


def _slice(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    starts, ends = reader.listed(node, 1, "starts") or [], reader.listed(node, 2, "ends") or []
    axes = reader.listed(node, 3, "axes") or list(range(len(starts)))
    steps = reader.listed(node, 4, "steps") or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis %= len(x.shape)
        places = range(*slice(start, end, step).indices(x.shape[axis]))
        if not len(places):
            raise node.error(f"leaves nothing of axis {axis}; tensors without elements are not modelled")
        x = x.slice(axis, places[0], len(places), step)
    return [x]


def _split(reader: Reader, node: Node) -> list[View]:
    x = reader.view(node, 0)
    axis = int(node.attributes.get("axis", 0)) % len(x.shape)
    parts = reader.listed(node, 1, "split")
    if parts is None:
        each = -(-x.shape[axis] // len(node.outputs))
        parts = [min(each, x.shape[axis] - at * each) for at in range(len(node.outputs))]
    starts = np.cumsum([0, *parts])
    return [x.slice(axis, int(start), size) for start, size in zip(starts, parts, strict=False)]


def _gather(reader: Reader, node: Node) -> list[View]:
    x, index = reader.view(node, 0), reader.view(node, 1)
    axis = int(node.attributes.get("axis", 0)) % len(x.shape)
    rows = _rows_of(reader, node, index, x.shape[axis])
    places = [int(one) % x.shape[axis] for one in rows.reshape(-1)]
    shape = (*x.shape[:axis], *index.shape, *x.shape[axis + 1 :])
    steps = set(np.diff(places)) or {1}
    known = node.inputs[1] in reader.known  # rows that are drawn are read, even where they are neighbours
    if known and len(steps) == 1 and 0 not in steps:  # neighbours at one distance: a view
        return [reader.build.reshape(x.slice(axis, places[0], len(places), int(steps.pop())), shape)]
    front = [axis, *(at for at in range(len(x.shape)) if at != axis)]
    rows_first = reader.build.gather(x.transpose(front), places)
    back = [*range(1, axis + 1), 0, *range(axis + 1, len(x.shape))]
    return [reader.build.reshape(rows_first.transpose(back), shape)]


def _rows_of(reader: Reader, node: Node, index: View, size: int) -> np.ndarray:
    """The numbers of an index; of an input of the graph the rows are drawn, spread over the table."""
    if node.inputs[1] in reader.known:
        return reader.known[node.inputs[1]]
    graph = reader.build.graph
    value = graph.values[index.base]
    if index.base not in graph.inputs:
        raise node.error(
            f"gathers rows {node.inputs[1]!r} that only a run would tell; rows that are an input or a constant are modelled"
        )
    if value.numbers is None:
        drawn = (np.arange(1, prod(value.shape) + 1) * _GOLDEN % 1 * size).astype(np.int64).reshape(value.shape)
        graph.values[index.base] = Value(value.name, value.shape, value.dtype, False, lambda: drawn)
        reader.remark(f"the rows of {index.base!r}: spread over the table, known before the run")
    numbers = graph.values[index.base].numbers
    assert numbers is not None
    found = index.of(numbers())
    if int(found.max()) >= size:
        raise node.error(
            f"gathers from {size} rows, and {index.base!r} gathers from more elsewhere; give it an input of its own"
        )
    return found


def _concat(reader: Reader, node: Node) -> list[View]:
    views = [reader.view(node, at) for at in range(len(node.inputs))]
    axis = int(node.attributes.get("axis", 0)) % len(views[0].shape)
    shape = list(views[0].shape)
    shape[axis] = sum(view.shape[axis] for view in views)
    longest = max(views, key=lambda view: view.elements)
    order = sorted(range(len(shape)), key=lambda at: -abs(longest.strides[at])) if len(shape) == 4 else None
    y = reader.build.result(shape, reader.build.dtype(longest), order)
    start = 0
    for view in views:
        reader.build.move(view, y.slice(axis, start, view.shape[axis]))
        start += view.shape[axis]
    return [y]


def _pad(reader: Reader, node: Node) -> list[View]:
    node.choose("mode", "constant", ("constant",))
    x, pads = reader.view(node, 0), reader.listed(node, 1, "pads") or []
    axes = reader.listed(node, 3, "axes") or list(range(len(x.shape)))
    axes = [axis % len(x.shape) for axis in axes]
    before, after = [0] * len(x.shape), [0] * len(x.shape)
    for at, axis in enumerate(axes):
        before[axis], after[axis] = pads[at], pads[at + len(axes)]
    if min(*before, *after, 0) < 0:
        raise node.error("cuts with negative pads; use Slice")
    value = (
        float(reader.numbers(node, 2).reshape(-1)[0])
        if reader.has(node, 2)
        else float(node.attributes.get("value", 0.0))
    )
    shape = [size + a + b for size, a, b in zip(x.shape, before, after, strict=True)]
    order = sorted(range(len(shape)), key=lambda at: -abs(x.strides[at]))
    y = reader.build.result(shape, reader.build.dtype(x), order)
    if value:
        held = reader.build.graph.values[y.base]
        filled = Value(held.name, held.shape, held.dtype, False, lambda: np.full(held.shape, value, np.float32))
        reader.build.graph.values[y.base] = filled
    reader.remark("the edges that Pad adds: they are there before the run")
    inner = y
    for axis, (start, size) in enumerate(zip(before, x.shape, strict=True)):
        inner = inner.slice(axis, start, size)
    reader.build.move(x, inner)
    return [y]


def _resize(reader: Reader, node: Node) -> list[View]:
    """Nearest neighbours by whole factors: each element is written several times."""
    mode = node.choose("mode", "nearest", ("nearest",))
    x = reader.view(node, 0)
    sizes_at, scales_at = (3, 2) if node.op == "Resize" and reader.opset > 10 else (None, 1)
    if sizes_at is not None and reader.has(node, sizes_at):
        out = [int(one) for one in reader.numbers(node, sizes_at)]
    elif reader.has(node, scales_at):
        out = [int(size * float(one)) for size, one in zip(x.shape, reader.numbers(node, scales_at), strict=True)]
    else:
        out = [int(size * float(one)) for size, one in zip(x.shape, node.attributes["scales"], strict=True)]
    if any(big % small for big, small in zip(out, x.shape, strict=True)):
        raise node.error(f"resizes {list(x.shape)} to {out} with mode={mode}; whole factors are modelled")
    factors = [big // small for big, small in zip(out, x.shape, strict=True)]
    shape = [size for pair in zip(x.shape, factors, strict=True) for size in pair]
    strides = tuple(stride for own in x.strides for stride in (own, 0))
    spread = x._replace(
        shape=tuple(one if at % 2 == 0 else 1 for at, one in enumerate(shape)), strides=strides
    ).broadcast(shape)
    order = sorted(range(len(x.shape)), key=lambda at: -abs(x.strides[at]))
    y = reader.build.result(out, reader.build.dtype(x), order)
    pairs = [stride for own, factor in zip(y.strides, factors, strict=True) for stride in (own * factor, own)]
    reader.build.move(spread, y._replace(shape=tuple(shape), strides=tuple(pairs)))
    return [y]


def _blocks(reader: Reader, node: Node) -> list[View]:
    """DepthToSpace and SpaceToDepth: a reshape, a transpose and a reshape."""
    x, size = reader.view(node, 0), int(node.attributes["blocksize"])
    n, c, h, w = x.shape
    if node.op == "SpaceToDepth":
        parts = reader.build.reshape(x, (n, c, h // size, size, w // size, size)).transpose((0, 3, 5, 1, 2, 4))
        return [reader.build.reshape(parts, (n, c * size * size, h // size, w // size))]
    if node.choose("mode", "DCR", ("DCR", "CRD")) == "DCR":
        parts = reader.build.reshape(x, (n, size, size, c // (size * size), h, w)).transpose((0, 3, 4, 1, 5, 2))
    else:
        parts = reader.build.reshape(x, (n, c // (size * size), size, size, h, w)).transpose((0, 1, 4, 2, 5, 3))
    return [reader.build.reshape(parts, (n, c // (size * size), h * size, w * size))]


def order_for(reader: Reader, node: Node, axes: int) -> Sequence[int] | None:
    """The order of the axes of a result in memory that makes a Transpose behind it free; None: row by row."""
    follow = reader.readers.get(node.outputs[0], [])
    if len(follow) == 1 and follow[0].op == "Transpose":
        order = follow[0].attributes.get("perm") or list(range(axes))[::-1]
        return [int(one) for one in order]
    return None


SHAPES: dict[str, Translate] = {
    "Identity": _same, "Dropout": _same, "Reshape": _reshape, "Flatten": _flatten, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze,
    "Transpose": _transpose, "Expand": _expand, "Tile": _tile, "Slice": _slice, "Split": _split, "Gather": _gather,
    "Concat": _concat, "Pad": _pad, "Resize": _resize, "Upsample": _resize, "DepthToSpace": _blocks, "SpaceToDepth": _blocks,
}  # fmt: skip
