"""Layer norms that exporters of opsets before 17 write out: ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kernbench.workloads.onnx_files.reader import Node

JOINED = "kernbench"  # the domain of what stands for several nodes


def join_norms(nodes: Sequence[Node], known: Mapping[str, np.ndarray]) -> list[Node]:
    """The nodes with each such norm as one; its scale and its shift stay nodes, which end it if nodes are fused."""
    makers = {name: node for node in nodes for name in node.outputs if name}
    constants = {**known, **{node.outputs[0]: _value(node) for node in nodes if node.op == "Constant"}}
    readers: dict[str, list[Node]] = {}
    for node in nodes:
        for name in node.inputs:
            readers.setdefault(name, []).append(node)
    gone: set[str] = set()
    made: dict[str, Node] = {}
    for node in nodes:
        found = _match(node, makers, constants, readers)
        if found is not None:
            made[node.name] = found
            gone.update(name for name in found.names if name != node.name)
    return [made.get(node.name, node) for node in nodes if node.name not in gone]


def _match(
    divide: Node, makers: Mapping[str, Node], known: Mapping[str, np.ndarray | None], readers: Mapping[str, list[Node]]
) -> Node | None:
    """The norm that ends with a Div, as one node."""
    if divide.op != "Div":
        return None
    centred, root = (makers.get(name) for name in divide.inputs)
    if centred is None or root is None or centred.op != "Sub" or root.op != "Sqrt":
        return None
    plus = makers.get(root.inputs[0])
    if plus is None or plus.op != "Add":
        return None
    variance, eps = _split_constant(plus, makers, known)
    mean = makers.get(centred.inputs[1])
    if variance is None or mean is None or variance.op != mean.op or mean.op != "ReduceMean":
        return None
    power = makers.get(variance.inputs[0])
    if power is None or mean.inputs[0] != centred.inputs[0] or not _is_square(power, known):
        return None
    below = makers.get(power.inputs[0])
    if below is not centred and not _is_same(below, centred):
        return None
    whole = [
        mean,
        centred,
        *([below] if below is not centred and below is not None else []),
        power,
        variance,
        plus,
        root,
        divide,
    ]
    inside = {one.name for one in whole}
    if any(reader.name not in inside for one in whole[:-1] for reader in readers.get(one.outputs[0], [])):
        return None
    axes = _axes(mean, known)
    if axes is None or axes != _axes(variance, known) or eps is None:
        return None
    names = tuple(one.name for one in whole)
    found = {"axes": axes, "epsilon": eps}
    return replace(divide, names=names, op="LayerNorm", domain=JOINED, inputs=(mean.inputs[0],), attributes=found)


def _split_constant(
    plus: Node, makers: Mapping[str, Node], known: Mapping[str, np.ndarray | None]
) -> tuple[Node | None, float | None]:
    """The maker of what is not constant of a sum, and the number that is."""
    for one, other in (plus.inputs, plus.inputs[::-1]):
        numbers = known.get(other)
        if numbers is not None and numbers.size == 1:
            return makers.get(one), float(numbers.reshape(-1)[0])
    return None, None


def _is_square(node: Node, known: Mapping[str, np.ndarray | None]) -> bool:
    if node.op == "Mul":
        return node.inputs[0] == node.inputs[1]
    exponent = known.get(node.inputs[1]) if node.op == "Pow" else None
    return exponent is not None and exponent.size == 1 and float(exponent.reshape(-1)[0]) == 2.0


def _is_same(node: Node | None, other: Node) -> bool:
    """Whether a node computes what another does, as some exporters write it twice."""
    return node is not None and node.op == other.op and node.inputs == other.inputs


def _axes(node: Node, known: Mapping[str, np.ndarray | None]) -> tuple[int, ...] | None:
    if len(node.inputs) > 1:
        numbers = known.get(node.inputs[1])
        return None if numbers is None else tuple(int(one) for one in numbers.reshape(-1))
    found = node.attributes.get("axes")
    return None if found is None else tuple(int(one) for one in found)


def _value(node: Node) -> np.ndarray | None:
    from onnx.numpy_helper import to_array

    value = node.attributes.get("value")
    if value is not None:
        return to_array(value)
    return next((np.array(one) for key, one in node.attributes.items() if key.startswith("value_")), None)
