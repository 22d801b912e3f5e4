"""Describing a topology that was checked: what its file and the sheets of its parts say."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from kernbench import library
from kernbench.machine.description import Description, FieldText, PartText
from kernbench.machine.topology import Topology
from kernbench.schema.guards import is_mapping
from kernbench.schema.yaml import Marked, load

OF_TOPOLOGY, OF_OVERRIDE = "set by the topology", "set for this machine alone"


def describe_topology(path: Path, topology: Topology) -> Description:
    """The description of a checked topology, of a file."""
    parts = {part: _describe_part(topology.tree, part, sheet) for part, sheet in topology.sheets.items()}
    return Description(str(path), _plain(topology.tree, "description"), parts)


def _describe_part(tree: Marked, part: str, path: Path) -> PartText:
    stat = path.stat()
    sheet = _load(path, stat.st_mtime_ns, stat.st_size)
    parameters = sheet.value.get("parameters")
    known: Mapping[str, Marked] = parameters.value if parameters is not None else {}
    held = tree.value[part]
    fields: Mapping[str, Marked] = held.value if is_mapping(held.value) else {}
    found = tuple(_describe_field(name, value, known.get(name), path) for name, value in fields.items())
    return PartText(_plain(sheet, "description"), str(path), found)


@lru_cache(maxsize=256)
def _load(path: Path, _mtime_ns: int, _size: int) -> Marked:
    return load(path)


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
