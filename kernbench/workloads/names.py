"""The names of networks and phases; light, since each press of Tab reads them."""

from __future__ import annotations

import re
from pathlib import Path

from kernbench import library

KIND = "benches/workloads"
PHASES = ("decode", "prefill", "chunked")
ROUTINGS = ("uniform", "balanced")  # rules by which tokens take experts
_MODEL = re.compile(r'"(model_type|architectures)"\s*:')
_GRAPH = re.compile(r"^graph:", re.MULTILINE)
_BEGINNING = 1 << 20


def list_networks() -> list[str]:
    """The names of all networks that need no path."""
    return library.list_names(KIND)


def is_config(path: Path) -> bool:
    """Whether a path is a JSON file that says of what type or architecture a model is."""
    if path.suffix != ".json" or not library.is_file(path):
        return False
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_BEGINNING)
    except OSError:
        return False
    return path.name == "config.json" or bool(_MODEL.search(text))


def is_graph(name: str) -> bool:
    """Whether a network is a graph of operators: an ONNX file, or a description that says so."""
    if Path(name).suffix == ".onnx":
        return True
    if Path(name).suffix == ".json" or name.removesuffix(".yaml") not in list_networks():
        return False
    return bool(_GRAPH.search(library.find(KIND, name).read_text(encoding="utf-8", errors="replace")))
