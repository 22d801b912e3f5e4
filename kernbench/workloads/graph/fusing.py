"""Fusing: an elementwise operator becomes steps of the operator whose result it alone reads, so that goes to memory once.

So batch norms, biases, activations and sums end convolutions and products; chains of functions, such as a GELU that is written
out, become one operator; and what only moves a result lets the operator write it to its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kernbench.workloads.graph.form import Elements, Gathered, Graph, Operator, join_steps, shift_steps
from kernbench.workloads.graph.view import View

EXTRAS = 4  # operands beside its own that a kernel takes


def fuse(graph: Graph) -> None:
    """Fuse the elementwise operators of a graph."""
    while _fuse_next(graph):
        pass


def _fuse_next(graph: Graph) -> bool:
    operators = graph.operators
    readers = Counter(base for one in operators for base in {view.base for view in one.reads})
    writers = Counter(one.output.base for one in operators)
    kept = {view.base for view in graph.outputs.values()}
    made = {
        one.output.base: at
        for at, one in enumerate(operators)
        if readers[one.output.base] == writers[one.output.base] == 1 and one.output.base not in kept
    }
    for at, reader in enumerate(operators):
        if not isinstance(reader.spec, Elements):
            continue
        makers = {made[view.base] for view in reader.extras if view.base in made}
        for before in sorted(makers, reverse=True):  # the last one: what else it reads is there by then
            if joined := _join(operators[before], reader):
                operators[at] = joined
                del operators[before]
                for node in reader.nodes:
                    graph.fused[node] = joined.nodes[0]
                return True
    return False


def _join(maker: Operator, reader: Operator) -> Operator | None:
    """Both as one; None if they cannot be."""
    base = maker.output.base
    looks = {view for view in reader.extras if view.base == base}
    if len(looks) > 1 or isinstance(maker.spec, Gathered):
        return None
    (look,) = looks
    if look.first != maker.output.first or look.elements != maker.output.elements:
        return None
    output = follow(reader.output, look, maker.output)
    extras, places = list(maker.extras), list[int]()
    own = 0 if isinstance(maker.spec, Elements) else 1
    for view in reader.extras:
        if view == look:
            places.append(-1)
            continue
        other = follow(view, look, maker.output)
        if other is None:
            return None
        if other not in extras:
            extras.append(other)
        places.append(own + extras.index(other))
    if output is None or len(extras) > EXTRAS:
        return None
    operands = own + len(extras)
    first = shift_steps(maker.steps, own + len(maker.extras), operands)
    return replace(
        maker,
        nodes=(*maker.nodes, *(node for node in reader.nodes if node not in maker.nodes)),
        output=output,
        dtype=reader.dtype,
        extras=tuple(extras),
        steps=join_steps(first, operands, reader.steps, places),
        flops=maker.flops + reader.flops,
        kind=reader.kind if maker.kind == "move" else maker.kind,
    )


def follow(other: View, look: View, made: View) -> View | None:
    """A view that has the axes of `look`, with those of `made` in their place; None where strides do not allow it.

    `look` and `made` are two ways to walk over the memory of one value, each element once.
    """
    strides: list[int] = []
    for size, stride in zip(made.shape, made.strides, strict=True):
        first, at, left = 0, stride, size
        while left > 1:
            piece = _find_axis(look, at)
            if piece is None:
                return None
            axis, room = piece
            taken = min(room, left)
            step = other.strides[axis] * (at // look.strides[axis])
            if left % taken:
                return None
            if at == stride:
                first = step
            elif step != first * (at // stride):
                return None
            at, left = at * taken, left // taken
        strides.append(first)
    return other._replace(shape=made.shape, strides=tuple(strides))


def _find_axis(view: View, stride: int) -> tuple[int, int] | None:
    """The axis that goes over memory at a stride, and how often it does so before it ends."""
    for axis, (size, own) in enumerate(zip(view.shape, view.strides, strict=True)):
        if size > 1 and own > 0 and own <= stride < own * size:
            return (axis, own * size // stride) if not stride % own and not own * size % stride else None
    return None
