"""Measured graphs: JSON files of tasks that took as long as was measured, which the modelled runtime replays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from kernbench import library
from kernbench.frontends.frontend import Files, FrontEnd
from kernbench.pto import MACHINE
from kernbench.schema.guards import is_mapping


def is_measured_graph(name: str) -> bool:
    """Whether a name is a JSON file with tasks."""
    path = Path(name)
    if path.suffix != ".json" or not library.is_file(path):
        return False
    try:
        held = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return is_mapping(held) and "tasks" in held


def name_files(name: str, parameters: Mapping[str, object]) -> Files:
    """The file of a graph."""
    del parameters
    return [("graph", Path(name))]


FRONT_END = FrontEnd(
    name="measured-graph",
    kind="measured-graph",
    title="measured graph",
    machine=MACHINE,
    workloads="kernbench.frontends.measured_graph_workloads",
    claims=is_measured_graph,
    names=dict,
    small={"bench": "vector_example", "topology": "ascend_tiny", "parameters": {"case": "Small", "rows": 4}},
    files_of=name_files,
    pictures="kernbench.report.diagram.swimlane",
    suffixes=(".json",),
)
