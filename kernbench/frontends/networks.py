"""Networks: descriptions by name, or a config.json of Hugging Face, whose steps are simulated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kernbench.frontends.benches import FRONT_END as BENCHES
from kernbench.frontends.frontend import Files, FrontEnd
from kernbench.workloads.names import KIND, PHASES, ROUTINGS, is_config, list_networks

PARAMETERS: dict[str, str | int] = {
    "phase": "decode",
    "batch": 1,
    "context": 1024,
    "prompt": 1024,
    "tp": 1,
    "ep": 1,
    "dp": 1,
    "routing": "uniform",
    "weights": "",
    "activations": "",
    "cache": "",
    "layers": "kinds",
    "ranks": "equal",
}
CHOICES = {"phase": PHASES, "routing": ROUTINGS, "layers": ("kinds", "all"), "ranks": ("equal", "all")}


def is_network(name: str) -> bool:
    """Whether a name is a description, or a path of a config."""
    return is_config(Path(name)) or name.removesuffix(".yaml") in list_networks()


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The config, if it is named by its path."""
    del parameters
    return [("config", Path(name))] if name.endswith(".json") else []


FRONT_END = FrontEnd(
    name="network",
    kind="network",
    title="network",
    machine=BENCHES.machine,
    workloads="kernbench.frontends.network_workloads",
    claims=is_network,
    names=lambda: {name: {one: CHOICES.get(one, ()) for one in PARAMETERS} for name in list_networks()},
    small=BENCHES.small,
    files_of=name_files,
    folder=KIND,
    options=frozenset({"op_limit"}),
    suffixes=(".json",),
    pictures="kernbench.report.figures.network_roofline",
)
