"""Fused attention, as products, a softmax and what is between them.

Heads of keys that several heads of queries share are read again at a stride of 0. Scores go to memory between the launches: a
kernel that keeps them is not chosen here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernbench.workloads.graph.form import Step
from kernbench.workloads.graph.view import View

if TYPE_CHECKING:
    from kernbench.workloads.onnx_files.reader import Node, Reader, Translate

_LOWEST = -1e4  # of a masked score: its exponential is 0 in f16


def _heads(reader: Reader, x: View, heads: int) -> View:
    """(b, s, h x e) as (b, h, s, e)."""
    b, s, wide = x.shape
    return reader.build.reshape(x, (b, s, heads, wide // heads)).transpose((0, 2, 1, 3))


def _merge(reader: Reader, y: View) -> View:
    """(b, h, s, e) as (b, s, h x e)."""
    b, h, s, e = y.shape
    return reader.build.reshape(y.transpose((0, 2, 1, 3)), (b, s, h * e))


def _extend(reader: Reader, past: View | None, new: View) -> View:
    """Keys or values behind those of a cache, (b, h, s, e)."""
    if past is None:
        return new
    b, h, before, e = past.shape
    y = reader.build.result((b, h, before + new.shape[2], e), reader.build.dtype(new))
    reader.build.move(past, y.slice(2, 0, before))
    reader.build.move(new, y.slice(2, before, new.shape[2]))
    return y


def _attend(
    reader: Reader,
    q: View,
    k: View,
    v: View,
    scale: float | None,
    mask: View | None,
    causal: int | None,
    cap: float = 0.0,
    window: int = 0,
) -> View:
    """softmax(q k scale + mask) v, (b, h, s, e); `causal` is how many tokens are before the first query, None: all are seen."""
    b, h, s, e = q.shape
    groups, total = k.shape[1], k.shape[2]
    share = h // groups
    q5 = reader.build.reshape(q, (b, groups, share, s, e))
    k5, v5 = (_spread(one, share) for one in (k, v))
    scores = reader.build.matmul(q5, k5.transpose((0, 1, 2, 4, 3)))
    steps: list[Step] = [("mul", 0, float(scale) if scale is not None else e**-0.5)]
    operands = [scores]

    def add(view: View) -> None:
        operands.append(view)

    if cap:
        steps += [("mul", "last", 1.0 / cap), ("tanh", "last"), ("mul", "last", cap)]
    if mask is not None:
        if reader.build.dtype(mask) == "bool":
            mask = reader.build.elementwise((("where", 0, 0.0, _LOWEST),), [mask], reader.build.dtype(q))
        shape = (1,) * (4 - len(mask.shape)) + mask.shape
        wide = mask.reshape(shape) or mask
        add(_with_groups(wide, groups, share))
        steps.append(("add", "last", len(operands) - 1))
    if causal is not None:
        seen = np.tri(s, total, causal) - (np.tri(s, total, causal - window) if window else 0)
        add(reader.make_constant(np.where(seen > 0, 0.0, _LOWEST).astype(np.float32)))
        steps.append(("add", "last", len(operands) - 1))
    reader_steps = _number(steps, len(operands))
    scores = reader.build.elementwise(reader_steps, operands)
    weights = reader.build.along(scores, [-1], "softmax", kind="softmax")
    order = (0, 3, 1, 2, 4)  # tokens before heads: then the heads are merged without a move
    y = reader.build.matmul(weights, v5, order)
    return (
        y._replace(shape=(b, h, s, v.shape[3]), strides=(y.strides[0], y.strides[2], y.strides[3], y.strides[4]))
        if (groups == 1 or share == 1 or y.strides[1] == y.strides[2] * share)
        else reader.build.reshape(y, (b, h, s, v.shape[3]))
    )


def _number(steps: list[Step], operands: int) -> list[Step]:
    """Steps whose argument "last" is the step before, or the first operand."""
    return [
        (one[0], *((0 if not at else operands + at - 1) if each == "last" else each for each in one[1:]))
        for at, one in enumerate(steps)
    ]


def _spread(x: View, share: int) -> View:
    """(b, g, t, e) as (b, g, share, t, e)."""
    return x._replace(shape=(*x.shape[:2], share, *x.shape[2:]), strides=(*x.strides[:2], 0, *x.strides[2:]))


def _with_groups(mask: View, groups: int, share: int) -> View:
    """(b, h or 1, s, t) as (b, g, share, s, t)."""
    b, h, s, t = mask.shape
    stride = mask.strides[1]
    parts = ((groups, share), (stride * share, stride)) if h > 1 else ((1, 1), (0, 0))
    return mask._replace(shape=(b, *parts[0], s, t), strides=(mask.strides[0], *parts[1], *mask.strides[2:]))


def _attention(reader: Reader, node: Node) -> list[View]:
    """Attention of the standard domain."""
    q, k, v = (reader.view(node, at) for at in range(3))
    flat = len(q.shape) == 3
    if flat:
        q = _heads(reader, q, int(node.attributes["q_num_heads"]))
        k, v = (_heads(reader, one, int(node.attributes["kv_num_heads"])) for one in (k, v))
    if reader.has(node, 6):
        raise node.error("has lengths of keys as an input; masks are modelled")
    past = reader.optional(node, 4), reader.optional(node, 5)
    k, v = _extend(reader, past[0], k), _extend(reader, past[1], v)
    before = past[0].shape[2] if past[0] is not None else 0
    causal = before if node.attributes.get("is_causal") else None
    node.choose("qk_matmul_output_mode", 0, (0,))
    cap = float(node.attributes.get("softcap", 0.0))
    y = _attend(reader, q, k, v, node.attributes.get("scale"), reader.optional(node, 3), causal, cap)
    return [_merge(reader, y) if flat else y, k, v]


def rotate(reader: Reader, x: View, cos: View, sin: View, interleaved: bool, rotated: int) -> View:
    """x (b, h, s, e) with its first `rotated` elements turned; cos and sin are (b or 1, s, rotated / 2)."""
    b, h, s, e = x.shape
    half = rotated // 2
    cos, sin = (
        one._replace(shape=(one.shape[0], 1, s, half), strides=(one.strides[0], 0, *one.strides[1:]))
        for one in (cos, sin)
    )
    y = reader.build.result((b, h, s, e), reader.build.dtype(x), sorted(range(4), key=lambda at: -abs(x.strides[at])))
    where = [(0, half, 2), (1, half, 2)] if interleaved else [(0, half, 1), (half, half, 1)]
    first, second = (x.slice(3, *one) for one in where)
    turned = (
        ([first, second, cos, sin], [("mul", 0, 2), ("mul", 1, 3), ("sub", 4, 5)]),
        ([first, second, cos, sin], [("mul", 1, 2), ("mul", 0, 3), ("add", 4, 5)]),
    )
    for (operands, steps), place in zip(turned, where, strict=True):
        reader.build.move(reader.build.elementwise(steps, operands, reader.build.dtype(x)), y.slice(3, *place))
    if rotated < e:
        reader.build.move(x.slice(3, rotated, e - rotated), y.slice(3, rotated, e - rotated))
    return y


def _rotary(reader: Reader, node: Node) -> list[View]:
    """RotaryEmbedding of both domains."""
    x = reader.view(node, 0)
    places, tables = (1, (2, 3)) if node.domain == "com.microsoft" else (3, (1, 2))
    cos, sin = (reader.view(node, at) for at in tables)
    flat = len(x.shape) == 3
    heads = int(node.attributes.get("num_heads", 0)) or (x.shape[2] // (cos.shape[-1] * 2) if flat else x.shape[1])
    turned = _heads(reader, x, heads) if flat else x
    b, s = turned.shape[0], turned.shape[2]
    if reader.has(node, places):
        if node.inputs[places] in reader.known:
            rows = np.broadcast_to(
                reader.known[node.inputs[places]].reshape(
                    -1, s if node.inputs[places] and reader.known[node.inputs[places]].size > 1 else 1
                ),
                (b, s),
            )
        else:
            reader.remark(f"the positions of node {node.name!r}: 0, 1, 2, ...")
            rows = np.broadcast_to(np.arange(s), (b, s))
        cos, sin = (_take(reader, one, rows) for one in (cos, sin))
    rotated = int(node.attributes.get("rotary_embedding_dim", 0)) or turned.shape[3]
    y = rotate(reader, turned, cos, sin, bool(node.attributes.get("interleaved", 0)), rotated)
    return [_merge(reader, y) if flat else y]


def _take(reader: Reader, table: View, rows: np.ndarray) -> View:
    """(b, s, n): neighbouring rows of a table, which all sequences share."""
    first = int(rows[0, 0])
    if not np.array_equal(rows, np.broadcast_to(np.arange(first, first + rows.shape[1]), rows.shape)):
        gathered = reader.build.gather(table, [int(one) for one in rows.reshape(-1)])
        return reader.build.reshape(gathered, (*rows.shape, table.shape[1]))
    mine = table.slice(0, first, rows.shape[1])
    return mine._replace(shape=(1, *mine.shape), strides=(0, *mine.strides))


def _group_query(reader: Reader, node: Node) -> list[View]:
    """GroupQueryAttention: the cache is full up to its length."""
    heads, groups = int(node.attributes["num_heads"]), int(node.attributes["kv_num_heads"])
    q = reader.view(node, 0)
    if reader.has(node, 1):
        k, v = reader.view(node, 1), reader.view(node, 2)
    else:
        size = q.shape[2] // (heads + 2 * groups)
        k = q.slice(2, heads * size, groups * size)
        v = q.slice(2, (heads + groups) * size, groups * size)
        q = q.slice(2, 0, heads * size)
    q4, k4, v4 = _heads(reader, q, heads), _heads(reader, k, groups), _heads(reader, v, groups)
    past = reader.optional(node, 3), reader.optional(node, 4)
    before = past[0].shape[2] if past[0] is not None else 0
    if node.attributes.get("do_rotary"):
        rows = np.broadcast_to(np.arange(before, before + q4.shape[2]), (1, q4.shape[2]))
        tables = [_take(reader, reader.view(node, at), rows) for at in (7, 8)]
        rotated, interleaved = tables[0].shape[-1] * 2, bool(node.attributes.get("rotary_interleaved", 0))
        q4, k4 = (rotate(reader, one, tables[0], tables[1], interleaved, rotated) for one in (q4, k4))
    k4, v4 = _extend(reader, past[0], k4), _extend(reader, past[1], v4)
    reader.remark(f"lengths of sequences of node {node.name!r}: the cache is full")
    scale = node.attributes.get("scale") or None
    window = max(0, int(node.attributes.get("local_window_size", -1)))
    y = _attend(reader, q4, k4, v4, scale, None, before, float(node.attributes.get("softcap", 0.0)), window)
    return [_merge(reader, y), k4, v4]


def _multi_head(reader: Reader, node: Node) -> list[View]:
    """MultiHeadAttention of com.microsoft, with queries, keys and values apart."""
    heads = int(node.attributes["num_heads"])
    if not reader.has(node, 2):
        raise node.error("has packed keys and values; give queries, keys and values apart")
    given = [reader.view(node, at) for at in range(3)]
    if reader.has(node, 3):
        bias, start = reader.view(node, 3), 0
        for at, one in enumerate(given):
            part = bias.slice(0, start, one.shape[-1])
            start += one.shape[-1]
            given[at] = reader.build.elementwise((("add", 0, 1),), [one, part])
    if reader.has(node, 4):
        reader.remark(f"the padding mask of node {node.name!r}")
    q, k, v = (one if len(one.shape) == 4 else _heads(reader, one, heads) for one in given)
    k, v = (_extend(reader, reader.optional(node, at), one) for at, one in ((6, k), (7, v)))
    scale = node.attributes.get("scale") or None
    causal = k.shape[2] - q.shape[2] if node.attributes.get("unidirectional") else None
    y = _attend(reader, q, k, v, scale, reader.optional(node, 5), causal)
    return [_merge(reader, y), k, v]


def _packed(reader: Reader, node: Node) -> list[View]:
    """Attention of com.microsoft: one matrix makes queries, keys and values."""
    heads = int(node.attributes["num_heads"])
    if reader.has(node, 4):
        raise node.error("has a cache in one tensor; use MultiHeadAttention or GroupQueryAttention")
    y = reader.build.matmul(reader.view(node, 0), reader.view(node, 1))
    if reader.has(node, 2):
        y = reader.build.elementwise((("add", 0, 1),), [y, reader.view(node, 2)])
    if reader.has(node, 3):
        reader.remark(f"the padding mask of node {node.name!r}")
    wide = y.shape[2] // 3
    q, k, v = (_heads(reader, y.slice(2, at * wide, wide), heads) for at in range(3))
    causal = 0 if node.attributes.get("unidirectional") else None
    return [
        _merge(reader, _attend(reader, q, k, v, node.attributes.get("scale") or None, reader.optional(node, 5), causal))
    ]


ATTENTION: dict[str, Translate] = {"Attention": _attention, "RotaryEmbedding": _rotary}
CONTRIB_ATTENTION: dict[str, Translate] = {
    "RotaryEmbedding": _rotary, "GroupQueryAttention": _group_query, "MultiHeadAttention": _multi_head, "Attention": _packed,
}  # fmt: skip
