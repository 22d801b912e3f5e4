"""Reads a model node by node: what is constant is computed, shapes are inferred, and each operator is built.

A name is a view of a value; one whose numbers are known is also a constant, which may decide shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError, shorten
from kernbench.workloads.graph.builder import Builder
from kernbench.workloads.graph.form import Graph
from kernbench.workloads.graph.view import View
from kernbench.workloads.onnx_files.file import (
    find_opset,
    import_onnx,
    is_external,
    list_inputs,
    name_axis,
    name_node,
    read_size,
)
from kernbench.workloads.onnx_files.patterns import join_norms

if TYPE_CHECKING:
    import onnx

_TYPES = {1: "f32", 2: "u8", 3: "i8", 4: "u16", 5: "i16", 6: "i32", 7: "i64", 9: "bool", 10: "f16", 11: "f32", 12: "u32",
          13: "u64", 16: "bf16", 17: "f8e4m3", 19: "f8e5m2"}  # fmt: skip  # of TensorProto.DataType
_DOUBLE = 11
_SMALL = 1 << 20  # elements of a constant that is computed at once
STANDARD = ("", "ai.onnx")
CONTRIB = "com.microsoft"


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the file: its name, the nodes that it joins, its operator, inputs, outputs and attributes."""

    name: str
    names: tuple[str, ...]
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    def error(self, what: str) -> InputError:
        """The error of a node that cannot be read."""
        return InputError(f"node {shorten(repr(self.name))} ({self.op}) {what}")

    def choose(self, attribute: str, default: Any, known: Sequence[Any]) -> Any:
        """An attribute with some known values. Errors: InputError for another."""
        value = self.attributes.get(attribute, default)
        if value not in known:
            raise self.error(f"has {attribute}={shorten(repr(value))}; known: {', '.join(map(repr, known))}")
        return value


Translate = Callable[["Reader", Node], Sequence[View]]


class Reader:
    """The state of reading a model."""

    def __init__(
        self, model: onnx.ModelProto, name: str, axes: Mapping[str, int], weights: str, activations: str
    ) -> None:
        self.onnx = import_onnx()
        self.model, self.axes, self.opset = model, axes, find_opset(model)
        self.build = Builder(name, weights, activations)
        self.views: dict[str, View] = {}
        self.known: dict[str, np.ndarray] = {}
        self.readers: dict[str, list[Node]] = {}
        self._element: dict[str, int] = {}
        self._types = {one.domain or "": one.version for one in model.opset_import}

    def read(self) -> Graph:
        """The graph. Errors: InputError that names the node."""
        graph = self.build.graph
        for tensor in self.model.graph.initializer:
            self._initialise(tensor)
        for one in list_inputs(self.model):
            self._input(one)
        nodes = self._list_nodes()
        for node in nodes:
            for name in node.inputs:
                self.readers.setdefault(name, []).append(node)
        for node in nodes:
            graph.nodes[node.op] = graph.nodes.get(node.op, 0) + len(node.names)
            self._translate(node)
        for one in self.model.graph.output:
            if one.name not in self.views:
                raise InputError(f"{graph.name} has an output {one.name!r}, which no node makes")
            self.build.output(one.name, self.views[one.name])
        graph.batch = self.axes["batch"]
        return graph

    # Of translations

    def view(self, node: Node, at: int) -> View:
        """An input. Errors: InputError if it is left out or made by nothing."""
        name = node.inputs[at] if at < len(node.inputs) else ""
        if not name:
            raise node.error(f"lacks input {at}")
        return self.views[name]

    def has(self, node: Node, at: int) -> bool:
        """Whether an input is given."""
        return at < len(node.inputs) and bool(node.inputs[at])

    def optional(self, node: Node, at: int) -> View | None:
        """An input that may be left out."""
        return self.view(node, at) if self.has(node, at) else None

    def numbers(self, node: Node, at: int) -> np.ndarray:
        """The numbers of an input that decides a shape. Errors: InputError if they are not known."""
        name = node.inputs[at]
        if name not in self.known:
            held = any(one.name == name for one in self.model.graph.initializer)
            why = (
                "are external data that is not read; store small tensors in the file"
                if held
                else "only a run would tell; make it a constant"
            )
            raise node.error(f"needs the numbers of {name!r}, which {why}")
        return self.known[name]

    def listed(self, node: Node, at: int, attribute: str, default: Sequence[int] | None = None) -> list[int] | None:
        """Numbers that are an input or, in older opsets, an attribute."""
        if self.has(node, at):
            return [int(one) for one in self.numbers(node, at).reshape(-1)]
        found = node.attributes.get(attribute, default)
        return None if found is None else [int(one) for one in found]

    def remark(self, line: str) -> None:
        """Say that something is not modelled."""
        if line not in self.build.graph.not_modelled:
            self.build.graph.not_modelled.append(line)

    # Values

    def _initialise(self, tensor: onnx.TensorProto) -> None:
        if is_external(tensor):
            self.constant(tensor.name, tuple(tensor.dims), tensor.data_type, None)
            return
        try:
            numbers = self.onnx.numpy_helper.to_array(tensor)
        except (ValueError, TypeError) as error:
            raise InputError(f"initializer {tensor.name!r} cannot be read: {shorten(str(error))}") from None
        self.constant(tensor.name, tuple(tensor.dims), tensor.data_type, numbers)

    def constant(self, name: str, shape: tuple[int, ...], element: int, numbers: np.ndarray | None) -> View:
        """A constant, whose numbers may be missing."""
        dtype = self.dtype(name, element)
        made = None if numbers is None else (lambda: numbers)
        self.views[name] = self.build.constant(name, shape, dtype, made)
        self._element[name] = element
        if numbers is not None:
            self.known[name] = numbers
        return self.views[name]

    def make_constant(self, numbers: np.ndarray) -> View:
        """A constant that a translation needs."""
        name = f"c{len(self.build.graph.values)}"
        element = self.onnx.helper.np_dtype_to_tensor_dtype(numbers.dtype)
        return self.constant(name, numbers.shape, element, numbers)

    def _input(self, one: onnx.ValueInfoProto) -> None:
        tensor, shape = one.type.tensor_type, list[int]()
        if not tensor.HasField("shape"):
            raise InputError(f"input {one.name!r} has no shape; export the graph with one")
        for axis, dim in enumerate(tensor.shape.dim):
            first = one.name == list_inputs(self.model)[0].name and not axis
            if size := read_size(dim):
                shape.append(size)
                if first and self.axes["batch"] != size:
                    raise InputError(
                        f"{self.build.graph.name} got batch={self.axes['batch']}, and the file fixes the first axis of "
                        f"{one.name!r} to {size}; export it with a dynamic axis"
                    )
            else:
                shape.append(self.axes["batch" if first else name_axis(self.model, one.name, axis, dim)])
        self.views[one.name] = self.build.input(one.name, shape, self.dtype(one.name, tensor.elem_type))
        self._element[one.name] = tensor.elem_type

    def element(self, name: str) -> int:
        """The type of a tensor, of TensorProto.DataType."""
        return self._element[name]

    def dtype(self, name: str, element: int) -> str:
        """The short name of a type of TensorProto. Errors: InputError for one that no memory holds."""
        if element not in _TYPES:
            word = self.onnx.TensorProto.DataType.Name(element) if element else "none"
            raise InputError(f"tensor {name!r} is of type {word}; known: {', '.join(dict.fromkeys(_TYPES.values()))}")
        if element == _DOUBLE:
            self.remark(f"f64 of {name!r}: taken as f32")
        return _TYPES[element]

    # Nodes

    def _list_nodes(self) -> list[Node]:
        protos = list(self.model.graph.node)
        makers = {name: at for at, node in enumerate(protos) for name in node.output if name}
        order: TopologicalSorter[int] = TopologicalSorter()
        for at, node in enumerate(protos):
            order.add(at, *(makers[name] for name in node.input if name in makers))
        try:
            ordered = sorted(range(len(protos))) if self._is_sorted(protos) else list(order.static_order())
        except CycleError as error:
            names = ", ".join(repr(name_node(protos[at], at)) for at in error.args[1][:-1])
            raise InputError(
                f"{self.build.graph.name} has a cycle of the nodes {names}; give a graph without one"
            ) from None
        return join_norms([self._node(protos[at], at) for at in ordered], self.known)

    def _is_sorted(self, protos: Sequence[Any]) -> bool:
        made = set(self.views)
        for node in protos:
            if any(name and name not in made for name in node.input):
                return False
            made.update(node.output)
        return True

    def _node(self, proto: onnx.NodeProto, at: int) -> Node:
        name = name_node(proto, at)
        attributes = {one.name: self.onnx.helper.get_attribute_value(one) for one in proto.attribute}
        texts = {key: value.decode() if isinstance(value, bytes) else value for key, value in attributes.items()}
        return Node(name, (name,), proto.op_type, proto.domain, tuple(proto.input), tuple(proto.output), texts)

    def _translate(self, node: Node) -> None:
        from kernbench.workloads.onnx_files.operators import find_operator

        for name in node.inputs:
            if name and name not in self.views:
                raise node.error(
                    f"reads {name!r}, which nothing makes; give an input, an initializer or a node of this name"
                )
        translate = find_operator(node)
        if self._fold(node):
            return
        found = self._infer(node)
        self.build.nodes = node.names
        try:
            made = translate(self, node)
        except ValueError as error:
            raise node.error(f"has shapes that contradict each other: {error}") from None
        if all(self._is_view(one, node) for one in made):
            self.build.graph.views += 1
        for at, (name, view) in enumerate(zip(node.outputs, made, strict=False)):
            if not name:
                continue
            if at < len(found) and found[at][1] is not None and tuple(found[at][1] or ()) != view.shape:
                raise node.error(f"makes {list(view.shape)}, and the library infers {list(found[at][1] or ())}")
            self.views[name] = view
            self._element[name] = (
                found[at][0] if at < len(found) else self._element[next(one for one in node.inputs if one)]
            )
            self._check_declared(node, name, view)
        for name in node.outputs[len(made) :]:
            if name and (self.readers.get(name) or any(one.name == name for one in self.model.graph.output)):
                raise node.error(f"has an output {name!r}, which is not modelled; leave it out")

    def _is_view(self, view: View, node: Node) -> bool:
        return any(name and self.views[name].base == view.base for name in node.inputs)

    def _check_declared(self, node: Node, name: str, view: View) -> None:
        declared = [one for one in (*self.model.graph.value_info, *self.model.graph.output) if one.name == name]
        for one in declared:
            dims = one.type.tensor_type.shape.dim if one.type.tensor_type.HasField("shape") else []
            sizes = [read_size(dim) for dim in dims]
            if dims and (
                len(sizes) != len(view.shape)
                or any(size and size != mine for size, mine in zip(sizes, view.shape, strict=False))
            ):
                raise node.error(
                    f"makes {name!r} of shape {list(view.shape)}, and the file declares {[size or '?' for size in sizes]}"
                )

    # Constants

    def _fold(self, node: Node) -> bool:
        """Whether a node makes constants: then they are there, with their numbers if those of its inputs are."""
        if node.op in ("Shape", "Size") and node.domain in STANDARD:
            shape = self.view(node, 0).shape
            start, end = node.attributes.get("start", 0), node.attributes.get("end")
            numbers = np.array(shape[start:end] if node.op == "Shape" else prod(shape), np.int64)
            self.constant(node.outputs[0], numbers.shape, self.onnx.TensorProto.INT64, numbers)
            return True
        given = [name for name in node.inputs if name]
        graph = self.build.graph
        if node.domain not in STANDARD or not all(graph.values[self.views[name].base].constant for name in given):
            return False
        small = sum(self.views[name].elements for name in given) <= _SMALL
        if small and all(name in self.known for name in given):
            for name, numbers in zip(node.outputs, self._evaluate(node), strict=False):
                element = self.onnx.helper.np_dtype_to_tensor_dtype(numbers.dtype)
                self.constant(name, numbers.shape, element, numbers)
            return True
        if node.op in _VIEWS:
            return False
        for name, (element, shape) in zip(node.outputs, self._infer(node), strict=False):
            if shape is not None:
                self.constant(name, shape, element, None)
                if all(one in self.known for one in given):
                    self._fill_later(node, name)
        return True

    def _fill_later(self, node: Node, name: str) -> None:
        value = self.build.graph.values[name]
        at = node.outputs.index(name)
        self.build.graph.values[name] = type(value)(
            name, value.shape, value.dtype, True, lambda: self._evaluate(node)[at]
        )

    def _evaluate(self, node: Node) -> list[np.ndarray]:
        """The outputs of a node of constants, by the library."""
        helper = self.onnx.helper
        proto = helper.make_node(node.op, node.inputs, node.outputs, node.name, **node.attributes)
        graph = helper.make_graph(
            [proto],
            "constant",
            [helper.make_tensor_value_info(name, self._element[name], None) for name in node.inputs if name],
            [helper.make_tensor_value_info(name, 0, None) for name in node.outputs if name],
        )
        imports = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=imports)
        try:
            with np.errstate(all="ignore"):
                return list(
                    self.onnx.reference.ReferenceEvaluator(model).run(
                        None, {name: self.known[name] for name in node.inputs if name}
                    )
                )
        except Exception as error:  # of any operator of the library
            raise node.error(f"cannot be computed from its constants: {shorten(str(error))}") from None

    def _infer(self, node: Node) -> list[tuple[int, tuple[int, ...] | None]]:
        """(element type, shape) of each output of a standard operator, by the library; none of others."""
        if node.domain not in STANDARD or not self.onnx.defs.has(node.op):
            return []
        helper = self.onnx.helper
        try:
            schema = self.onnx.defs.get_schema(node.op, self.opset, "")
            proto = helper.make_node(node.op, node.inputs, node.outputs, node.name, **node.attributes)
            types = {
                name: helper.make_tensor_type_proto(self._element[name], self.views[name].shape)
                for name in node.inputs
                if name
            }
            data = {
                name: self.onnx.numpy_helper.from_array(self.known[name], name)
                for name in node.inputs
                if name in self.known and self.known[name].size <= _SMALL
            }
            imports = [helper.make_opsetid("", self.opset)]
            found = self.onnx.shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=imports)
        except Exception as error:  # the library has several kinds
            raise node.error(
                f"is not what its operator takes: {shorten(str(error).strip().splitlines()[-1])}"
            ) from None
        return [_read_type(found[name].tensor_type) if name in found else (0, None) for name in node.outputs]


_VIEWS = ("Reshape", "Transpose", "Squeeze", "Unsqueeze", "Identity", "Flatten")


def _read_type(tensor: Any) -> tuple[int, tuple[int, ...] | None]:
    dims = list(tensor.shape.dim) if tensor.HasField("shape") else None
    if dims is None or any(not dim.HasField("dim_value") for dim in dims):
        return tensor.elem_type, None
    return tensor.elem_type, tuple(dim.dim_value for dim in dims)
