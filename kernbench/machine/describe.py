"""Describing the topology of a machine: what its file and the sheets of its parts say, as they are written now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kernbench import library
from kernbench.machine.topology import check_topology
from kernbench.schema.guards import is_mapping
from kernbench.schema.yaml import Marked, load

OF_TOPOLOGY, OF_OVERRIDE = "set by the topology", "set for this machine alone"


class FieldText(NamedTuple):
    """A figure of a part as it is written: value with unit, where its value is from, and where it stands."""

    name: str
    value: str
    source: str
    place: str  # file:line:column, or the override


class PartText(NamedTuple):
    """A part of a machine: what its sheet says, and its figures."""

    description: str
    sheet: str  # path
    fields: tuple[FieldText, ...]


class Description(NamedTuple):
    """A topology as it is written: its file, what it says of itself, and its parts by name."""

    file: str = ""
    text: str = ""
    parts: Mapping[str, PartText] = {}


def describe_topology(path: Path, overrides: Mapping[str, object]) -> Description:
    """The description of a topology file with overrides of its fields. Errors: InputError as `load_machine`."""
    topology = check_topology(path, overrides)
    parts = {part: _describe_part(topology.tree, part, sheet) for part, sheet in topology.sheets.items()}
    return Description(str(path), _plain(topology.tree, "description"), parts)


def _describe_part(tree: Marked, part: str, path: Path) -> PartText:
    sheet = load(path)
    parameters = sheet.value.get("parameters")
    known: Mapping[str, Marked] = parameters.value if parameters is not None else {}
    held = tree.value[part]
    fields: Mapping[str, Marked] = held.value if is_mapping(held.value) else {}
    found = tuple(_describe_field(name, value, known.get(name), path) for name, value in fields.items())
    return PartText(_plain(sheet, "description"), str(path), found)


def _describe_field(name: str, value: Marked, parameter: Marked | None, sheet: Path) -> FieldText:
    source, place = OF_TOPOLOGY, str(value.mark)
    if value.mark.line:  # of a file, whose path from here is not that from elsewhere
        place = f"{Path(value.mark.file).name}:{value.mark.line}:{value.mark.column}"
    else:
        source = OF_OVERRIDE
    if parameter is not None and value.mark.file == library.show_path(sheet):
        source = str(parameter.value["source"].plain())
    return FieldText(name, str(value.plain()), source, place)


def _plain(tree: Marked, name: str) -> str:
    found = tree.value.get(name)
    return "" if found is None else str(found.plain())
