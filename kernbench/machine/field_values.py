"""The fields of one topology with their values: each value as written, where it is written, and who says so.

A value comes from the sheet of its part, the topology file, an override, or the default of its field. `kernbench show` and
the viewer's panel of a machine show what is found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.machine.topology import ParsedTopology, check_parsed, read_topology
from kernbench.schema.described import DescribedField, as_text, describe_fields
from kernbench.schema.guards import is_mapping
from kernbench.schema.model import Model
from kernbench.schema.topology import overlay
from kernbench.schema.yaml import Marked, load

SET_BY_TOPOLOGY, OVERRIDDEN, DEFAULT = "set by the topology", "overridden", "default of the field"


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field of a topology: what it is, and its value as written with its file and line, and its source."""

    field: DescribedField
    written: str  # with its unit
    value: Any  # checked, in the unit of the field: plain values of JSON
    place: str  # "models/hbm.yaml:5:12"; "" for a default
    source: str

    @property
    def path(self) -> str:
        """What `--set topology.` takes."""
        return self.field.path

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "field": self.path,
            "value": self.value,
            "unit": self.field.unit,
            "written": self.written,
            "source": self.source,
            "place": self.place,
            "meaning": self.field.meaning,
            "allowed": self.field.values,
            "choices": list(self.field.choices),
            "default": self.field.default,
        }


@dataclass(frozen=True, slots=True)
class ShownPart:
    """A part of a topology: the description of its sheet, the sheet itself, and its fields."""

    description: str
    sheet: Path
    fields: tuple[FieldValue, ...]


@dataclass(frozen=True, slots=True)
class ShownTopology:
    """A checked topology as it is shown: fields that belong to no part, then those of each part by name."""

    name: str
    family: str
    file: Path
    description: str
    fields: tuple[FieldValue, ...]
    parts: Mapping[str, ShownPart]

    @property
    def all_fields(self) -> list[FieldValue]:
        """All fields, those of the parts last."""
        return [*self.fields, *(value for part in self.parts.values() for value in part.fields)]


def show_topology(topology: str | Path, overrides: Mapping[str, object] | None = None) -> ShownTopology:
    """The fields of a topology with their values. Errors: InputError as `load_machine`."""
    path, given = library.find("topology", topology), dict(overrides or {})
    parsed = read_topology(path, given)
    spec = check_parsed(parsed, given).spec
    tree, _ = overlay(parsed.tree, given, (field.path for field in describe_fields(parsed.family.spec)))
    found = list(_values(parsed, tree, spec))
    by_part = {part: tuple(one for one in found if one.path.startswith(f"{part}.")) for part in parsed.sheets}
    in_parts = {id(one) for fields in by_part.values() for one in fields}
    return ShownTopology(
        name=path.stem,
        family=str(getattr(spec, "family")),  # noqa: B009  # of every family
        file=path,
        description=str(getattr(spec, "description")),  # noqa: B009
        fields=tuple(one for one in found if id(one) not in in_parts),
        parts={part: ShownPart(describe_sheet(sheet), sheet, by_part[part]) for part, sheet in parsed.sheets.items()},
    )


def describe_sheet(sheet: Path) -> str:
    """The description in a model sheet that was checked."""
    return str(load(sheet).value["description"].plain())


def _values(parsed: ParsedTopology, tree: Marked, spec: Model) -> Iterable[FieldValue]:
    sources = {part: _sources(sheet) for part, sheet in parsed.sheets.items()}
    plain = spec.model_dump(mode="json")
    for field in describe_fields(parsed.family.spec):
        node, names = _at(tree, field.path), field.path.split(".")
        value: Any = plain
        for name in names:
            value = value[name]
        if node is None:
            yield FieldValue(field, _with_unit(as_text(value), field), value, "", DEFAULT)
            continue
        sheet = parsed.sheets.get(names[0])
        if sheet is not None and node.mark.file == library.show_path(sheet):
            source = sources[names[0]][names[1]]
        else:
            source = SET_BY_TOPOLOGY if node.mark.line else OVERRIDDEN
        yield FieldValue(field, _with_unit(as_text(node.plain()), field), value, str(node.mark), source)


def _sources(sheet: Path) -> dict[str, str]:
    parameters = load(sheet).value.get("parameters")
    known: Mapping[str, Marked] = parameters.value if parameters is not None else {}
    return {name: str(parameter.value["source"].plain()) for name, parameter in known.items()}


def _at(tree: Marked, path: str) -> Marked | None:
    node: Marked | None = tree
    for name in path.split("."):
        node = node.value.get(name) if node is not None and is_mapping(node.value) else None
    return node


def _with_unit(text: str, field: DescribedField) -> str:
    """A value with its unit, unless it is no bare number."""
    try:
        float(text)
    except ValueError:
        return text
    return f"{text} {field.unit}".rstrip()
