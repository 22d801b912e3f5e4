"""An ONNX file: what is wrong with it, its axes, and its graph at given sizes.

The library reads the file, infers shapes and computes what is constant; it is an extra of the installation.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError, shorten
from kernbench.library import show_path
from kernbench.text import plural
from kernbench.workloads.graph.form import Graph
from kernbench.workloads.graph.sources import GraphSource

if TYPE_CHECKING:
    import onnx

_OLDEST = 7  # opset: broadcasting as numpy's begins there
_TAKEN = ("batch", "weights", "activations", "fuse", "nodes")  # parameters of a graph
_MOST_BYTES = (1 << 31) - 1  # of a protobuf


def import_onnx() -> Any:
    """The library. Errors: InputError if it is not installed."""
    try:
        import onnx
        import onnx.reference
        import onnx.shape_inference
    except ImportError:
        raise InputError("ONNX files need the package onnx; install it with pip install 'kernbench[onnx]'") from None
    return onnx


class OnnxFile(GraphSource):
    """A graph of an ONNX file. Errors: InputError for another file, or a version that is not known."""

    def __init__(self, path: Path) -> None:
        self.file, self.name, self.source = path, path.stem, show_path(path)
        self.model = load_model(path)
        made = self.model.producer_name or "an unnamed exporter"
        self.description = (
            f"{plural(len(self.model.graph.node), 'node')} of ONNX, opset {find_opset(self.model)}, by {shorten(made)}"
        )

    @cached_property
    def axes(self) -> Mapping[str, int]:
        """As of `GraphSource`: `batch` is the first axis of the first input, others have their names in the file."""
        found: dict[str, int] = {"batch": 1}
        for at, one in enumerate(list_inputs(self.model)):
            for axis, dim in enumerate(one.type.tensor_type.shape.dim):
                if not at and not axis and (read_size(dim) or not dim.dim_param):
                    found["batch"] = read_size(dim) or 1
                elif not read_size(dim):
                    found.setdefault(name_axis(self.model, one.name, axis, dim), 0)
        return found

    def read(self, axes: Mapping[str, int], weights: str = "", activations: str = "") -> Graph:
        """As of `GraphSource`."""
        from kernbench.workloads.onnx_files.reader import Reader

        return Reader(self.model, self.name, axes, weights, activations).read()

    def refuse_numbers(self) -> str | None:
        """As of `GraphSource`."""
        if any(is_external(one) for one in self.model.graph.initializer):
            return f"{GraphSource.refuse_numbers(self)}, or give a file with weights"
        own = [one for one in self.model.graph.node if one.domain not in ("", "ai.onnx")]
        if own:
            return (
                f"{self.name} has operator {own[0].op_type!r} of domain {own[0].domain!r}, which the reference implementation "
                "of ONNX lacks, so no numbers of a run can be checked; leave --verify-data out"
            )
        return None

    def compute(self, graph: Graph, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """As of `GraphSource`: by the reference implementation of ONNX."""
        onnx = import_onnx()
        types = {
            one.name: onnx.helper.tensor_dtype_to_np_dtype(one.type.tensor_type.elem_type)
            for one in self.model.graph.input
        }
        feeds = {name: np.array(array).astype(types[name]) for name, array in given.items()}
        names = list(graph.outputs)
        return dict(zip(names, onnx.reference.ReferenceEvaluator(self.model).run(names, feeds), strict=True))


def load_model(path: Path) -> onnx.ModelProto:
    """The model of a file, without external data. Errors: InputError."""
    onnx = import_onnx()
    place = show_path(path)
    if not path.is_file():
        raise InputError(f"there is no ONNX file {place}; give the path of one")
    if path.stat().st_size > _MOST_BYTES:
        raise InputError(
            f"{place} has {path.stat().st_size:,} bytes, and a protobuf ends at 2 GB; export it with its weights as external "
            "data"
        )
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # of protobuf, by its version
        raise InputError(
            f"{place} is no ONNX file, or a part of one: {shorten(str(error) or type(error).__name__)}"
        ) from None
    if not model.ByteSize() or not model.HasField("graph"):
        raise InputError(f"{place} has no ONNX graph; give a file that an exporter wrote")
    check_model(model, place)
    if model.functions:
        import onnx.inliner

        model = onnx.inliner.inline_local_functions(model)
    return model


def check_model(model: onnx.ModelProto, place: str) -> None:
    """Check a model before its nodes are read. Errors: InputError."""
    onnx = import_onnx()
    opset, newest = find_opset(model), onnx.defs.onnx_opset_version()
    if not _OLDEST <= opset <= newest:
        remedy = "convert it with onnx.version_converter" if opset < _OLDEST else "install a newer onnx"
        raise InputError(f"{place} is of opset {opset}; opsets {_OLDEST} to {newest} are known: {remedy}")
    if not model.graph.node:
        raise InputError(f"{place} has a graph without nodes; give a graph that computes something")
    if not model.graph.output:
        raise InputError(f"{place} has a graph without outputs; give a graph that computes something")
    made: dict[str, str] = {one.name: "an input" for one in list_inputs(model)}
    for name in (one.name for one in model.graph.initializer):
        made[name] = "an initializer"
    for at, node in enumerate(model.graph.node):
        for name in node.output:
            if name and name in made:
                raise InputError(
                    f"{place}: node {name_node(node, at)!r} makes {name!r}, which is {made[name]} already; give it another name"
                )
            made[name] = f"made by node {name_node(node, at)!r}"
    for one in model.graph.input:
        if not one.type.HasField("tensor_type"):
            raise InputError(
                f"{place}: input {one.name!r} is no tensor; sequences, maps and optionals are not modelled"
            )


def find_opset(model: onnx.ModelProto) -> int:
    """The version of the standard operators."""
    return max((one.version for one in model.opset_import if one.domain in ("", "ai.onnx")), default=0)


def list_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that are no initializers, which old files list too."""
    held = {one.name for one in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in held]


def read_size(dim: Any) -> int:
    """The size of an axis; 0 of a dynamic one, which some exporters write as 0 or -1."""
    return max(0, dim.dim_value)


def name_axis(model: onnx.ModelProto, tensor: str, axis: int, dim: Any) -> str:
    """The parameter that sets an axis of an input: `batch`, its symbol, or the input and the number of the axis.

    A symbol that is the name of another parameter has `axis_` before it.
    """
    first = list_inputs(model)[0].type.tensor_type.shape.dim
    symbol = first[0].dim_param if first else ""
    if (symbol and dim.dim_param == symbol) or (not axis and not dim.dim_param):
        return "batch"
    word = dim.dim_param or f"{tensor}_{axis}"
    name = "".join(letter if letter.isalnum() else "_" for letter in word)
    return f"axis_{name}" if name in _TAKEN else name


def name_node(node: onnx.NodeProto, at: int) -> str:
    """The name of a node, or its operator and place."""
    return node.name or f"{node.op_type}_{at}"


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the numbers of a tensor are in another file."""
    return tensor.data_location == 1 or bool(tensor.external_data)
