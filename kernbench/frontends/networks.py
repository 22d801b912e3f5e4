"""Networks: descriptions by name, a config.json of Hugging Face or an ONNX file. A step of one is simulated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernbench.frontends.benches import FRONT_END as BENCHES
from kernbench.frontends.frontend import Files, FrontEnd
from kernbench.workloads.names import KIND, PHASES, ROUTINGS, is_config, is_graph, list_networks

PARAMETERS: dict[str, str | int] = {
    "phase": "decode",
    "batch": 1,
    "context": 1024,
    "prompt": 1024,
    "chunk": 512,
    "tp": 1,
    "ep": 1,
    "pp": 1,
    "micro": 0,
    "dp": 1,
    "routing": "uniform",
    "weights": "",
    "activations": "",
    "cache": "",
    "mlp_weights": "",
    "math_fidelity": "",
    "mlp_math_fidelity": "",
    "layers": "kinds",
    "ranks": "equal",
    "choices": "",
}
FIDELITIES = ("", "lofi", "hifi2", "hifi3", "hifi4")
OF_CHIPS = ("mlp_weights", "math_fidelity", "mlp_math_fidelity")  # of family tensix
CHOICES = {
    "phase": PHASES,
    "routing": ROUTINGS,
    "layers": ("kinds", "all"),
    "ranks": ("equal", "all"),
    "math_fidelity": FIDELITIES,
    "mlp_math_fidelity": FIDELITIES,
}
OF_GRAPHS: dict[str, str | int] = {
    "weights": "",
    "activations": "",
    "fuse": "yes",
    "nodes": "distinct",
}  # beside their axes
GRAPH_CHOICES = {"fuse": ("yes", "no"), "nodes": ("distinct", "all")}


def is_network(name: str) -> bool:
    """Whether a name is a description, or a path of a config or of an ONNX file."""
    return Path(name).suffix == ".onnx" or is_config(Path(name)) or name.removesuffix(".yaml") in list_networks()


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The config or the graph, if it is named by its path."""
    del parameters
    kind = {".json": "config", ".onnx": "graph"}.get(Path(name).suffix)
    return [(kind, Path(name))] if kind else []


def name_parameters(name: str) -> dict[str, tuple[str, ...]]:
    """The parameters of a network, each with the values that it is known to take."""
    if is_graph(name):
        return {one: GRAPH_CHOICES.get(one, ()) for one in ("batch", *OF_GRAPHS)}
    return {one: CHOICES.get(one, ()) for one in PARAMETERS}


FRONT_END = FrontEnd(
    name="network",
    kind="network",
    title="network",
    machine=BENCHES.machine,
    workloads="kernbench.frontends.network_workloads",
    claims=is_network,
    names=lambda: {name: name_parameters(name) for name in list_networks()},
    small=BENCHES.small,
    files_of=name_files,
    folder=KIND,
    options=frozenset({"op_limit"}),
    suffixes=(".json", ".onnx"),
    parameters_of=name_parameters,
    pictures="kernbench.report.figures.network_roofline",
)
