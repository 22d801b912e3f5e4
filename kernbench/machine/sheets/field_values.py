"""The fields of one topology with their values: each value as written, where it is written, and who says so.

A value comes from the sheet of its part, the topology file, an override, or the default of its field. `kernbench show`, the
viewer's panel of a machine and `machine.json` have what is found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.machine.overrides import read_overrides
from kernbench.machine.topology import Topology, check_topology
from kernbench.schema.described import DescribedField, as_text, describe_fields
from kernbench.schema.sheet import find_node
from kernbench.schema.yaml import Mark, load

SET_BY_TOPOLOGY, OVERRIDDEN, DEFAULT = "set by the topology", "overridden", "default"


@dataclass(frozen=True, slots=True)
class FieldValue:
    """A field of a topology: what it is, and its value as written with its place and its source.

    The source is what the sheet or the topology cites, or one of the three that are named above.
    """

    field: DescribedField
    written: str  # with its unit
    value: Any  # checked, in the unit of the field: plain values of JSON
    mark: Mark | None  # None for a default
    source: str
    range: tuple[float, float] | None = None  # the least and the most that it may be, in the unit of the field

    @property
    def path(self) -> str:
        """What `--set topology.` takes."""
        return self.field.path

    @property
    def name(self) -> str:
        """The path without the part."""
        return self.path.partition(".")[2]

    @property
    def shown_range(self) -> str:
        """The range with its unit, "" without one."""
        return "" if self.range is None else f"{self.range[0]:.12g} … {self.range[1]:.12g} {self.field.unit}".rstrip()

    @property
    def place(self) -> str:
        """File, line and column: "models/hbm.yaml:5:12"; the override; "" for a default."""
        return str(self.mark or "")

    @property
    def short_place(self) -> str:
        """The same without the folders of the file, which are others on another computer."""
        if self.mark is None or not self.mark.line:
            return self.place
        return f"{Path(self.mark.file).name}:{self.mark.line}:{self.mark.column}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "field": self.path,
            "value": self.value,
            "unit": self.field.unit,
            "written": self.written,
            "source": self.source,
            "range": None if self.range is None else list(self.range),
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
    path = library.find("topology", topology)
    checked = check_topology(path, read_overrides(overrides))
    sheets = {part: load(sheet) for part, sheet in checked.sheets.items()}
    by_part: dict[str, list[FieldValue]] = {part: [] for part in sheets}
    general: list[FieldValue] = []
    for one in _values(checked):
        by_part.get(one.path.partition(".")[0], general).append(one)
    return ShownTopology(
        name=path.stem,
        family=str(getattr(checked.spec, "family")),  # noqa: B009  # of every family
        file=path,
        description=str(getattr(checked.spec, "description")),  # noqa: B009
        fields=tuple(general),
        parts={
            part: ShownPart(str(sheet.value["description"].plain()), checked.sheets[part], tuple(by_part[part]))
            for part, sheet in sheets.items()
        },
    )


def _values(topology: Topology) -> Iterable[FieldValue]:
    plain: Any = topology.spec.model_dump(mode="json")
    for field in describe_fields(topology.family.spec):
        node, value = find_node(topology.tree, field.path), plain
        for name in field.path.split("."):
            value = value[name]
        if node is None:
            yield FieldValue(field, _with_unit(as_text(value), field), value, None, DEFAULT)
            continue
        given = SET_BY_TOPOLOGY if node.mark.line else OVERRIDDEN
        source = given if node.cited is None else node.cited.source
        written, ends = _with_unit(as_text(node.plain()), field), topology.ranges.get(field.path)
        yield FieldValue(field, written, value, node.mark, source, ends)


def _with_unit(text: str, field: DescribedField) -> str:
    """A value with its unit, unless it is no bare number."""
    try:
        float(text)
    except ValueError:
        return text
    return f"{text} {field.unit}".rstrip()
