"""Shipped networks, and those of the working directory: files of `benches/workloads`, each a config and its source."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kernbench import library
from kernbench.errors import InputError, shorten
from kernbench.library import show_path
from kernbench.schema.yaml import load
from kernbench.workloads.architecture import Architecture
from kernbench.workloads.config_json import load_config, read_config
from kernbench.workloads.names import KIND

_KEYS = ("description", "source", "config")


class Network(NamedTuple):
    """A network that was found: its architecture, and what its file says of it."""

    architecture: Architecture
    file: Path
    description: str
    source: str


def find_network(name: str) -> Network:
    """A network by the name of its description, or by the path of a config.json. Errors: InputError."""
    path = Path(name)
    if path.suffix == ".json":
        architecture = load_config(path)
        return Network(architecture, path, f"{architecture.name}, of type {architecture.family}", show_path(path))
    return _load_description(library.find(KIND, name))


def _load_description(path: Path) -> Network:
    """A description. Errors: InputError for a file of other fields."""
    tree, place = load(path), show_path(path)
    data = tree.plain()
    if not isinstance(data, dict) or set(data) != set(_KEYS):
        raise InputError(f"{place} is no description of a network; give a mapping of {', '.join(_KEYS)}")
    for key in _KEYS[:2]:
        if not isinstance(data[key], str):
            raise InputError(f"{place} has {key}: {shorten(repr(data[key]))}; give a text")
    return Network(read_config(data["config"], place, path.stem), path, data["description"], data["source"])
