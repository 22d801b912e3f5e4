"""Where graphs come from: a description by sizes, or an ONNX file. Both give graphs for a batch and sizes of symbolic axes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kernbench import library
from kernbench.errors import InputError, shorten
from kernbench.library import show_path
from kernbench.schema.yaml import load
from kernbench.workloads.graph.form import Graph
from kernbench.workloads.graph.fusing import fuse
from kernbench.workloads.names import KIND

_KEYS = ("description", "source", "graph")


class GraphSource(ABC):
    """A network as a graph: its name, its file, what it says of itself, and the symbolic axes that a user may set."""

    file: Path
    name: str
    description: str
    source: str

    @property
    @abstractmethod
    def axes(self) -> Mapping[str, int]:
        """The axes that may be set, `batch` first, with their defaults; 0: one that has to be set."""

    @abstractmethod
    def read(self, axes: Mapping[str, int], weights: str = "", activations: str = "") -> Graph:
        """The graph of these sizes. Errors: InputError."""

    def refuse_numbers(self) -> str | None:
        """Why a run cannot be checked, if so."""
        return f"{self.name} has no weights, so no numbers of a run can be checked; leave --verify-data out"

    def compute(self, graph: Graph, given: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
        """The outputs of the network by an implementation of its own."""
        raise NotImplementedError

    def make(self, given: Mapping[str, Any]) -> Graph:
        """The graph that parameters ask for. Errors: InputError."""
        axes = {name: int(given[name]) for name in self.axes}
        if unset := [name for name, size in axes.items() if not size and not self.axes[name]]:
            raise InputError(
                f"{self.name} has a dynamic axis {unset[0]!r}, which nobody set; give --set {unset[0]}=SIZE"
                + (f", and so for {', '.join(unset[1:])}" if unset[1:] else "")
            )
        for name, size in axes.items():
            if size < 1:
                raise InputError(f"{self.name} got {name}={size}; give 1 or more")
        graph = self.read(axes, given["weights"], given["activations"])
        if not graph.operators:
            raise InputError(f"{self.name} has no operator that takes time; give a graph that computes something")
        if given["fuse"] == "yes":
            fuse(graph)
        return graph


class Description(GraphSource):
    """A file of `benches/workloads` that names a family of graphs and its sizes."""

    def __init__(self, path: Path) -> None:
        tree, place = load(path), show_path(path)
        data = tree.plain()
        if not isinstance(data, dict) or set(data) != set(_KEYS) or not isinstance(data["graph"], dict):
            raise InputError(f"{place} is no description of a graph; give a mapping of {', '.join(_KEYS)}")
        for key in _KEYS[:2]:
            if not isinstance(data[key], str):
                raise InputError(f"{place} has {key}: {shorten(repr(data[key]))}; give a text")
        self.file, self.name = path, path.stem
        self.description, self.source, self._sizes = data["description"], data["source"], data["graph"]

    @property
    def axes(self) -> Mapping[str, int]:
        """As of `GraphSource`."""
        return {"batch": 1}

    def read(self, axes: Mapping[str, int], weights: str = "", activations: str = "") -> Graph:
        """As of `GraphSource`."""
        from kernbench.workloads.graph.vision import build

        return build(self.name, self._sizes, axes["batch"], weights, activations)


def find_graph(name: str) -> GraphSource:
    """A graph by the name of its description or by the path of an ONNX file. Errors: InputError."""
    if Path(name).suffix == ".onnx":
        from kernbench.workloads.onnx_files.file import OnnxFile

        return OnnxFile(Path(name))
    return Description(library.find(KIND, name))
