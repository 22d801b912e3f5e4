"""Model sheets as they are shown: what a sheet is for, its parameters with units, sources and meanings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernbench import library
from kernbench.errors import InputError
from kernbench.machine.families.registry import FAMILIES
from kernbench.parts import dropin
from kernbench.parts.part import Part
from kernbench.schema.described import DescribedField, as_text, describe_fields
from kernbench.schema.guards import is_mapping
from kernbench.schema.model import check
from kernbench.schema.sheet import Parameter, Sheet, find_node
from kernbench.schema.yaml import Marked, load


@dataclass(frozen=True, slots=True)
class SheetParameter:
    """A parameter of a sheet, with its value as written, its file and line, and its source."""

    field: DescribedField
    written: str
    place: str
    source: str
    range: str  # as written, with its unit; "" without one

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "field": self.field.path,
            "written": self.written,
            "unit": self.field.unit,
            "source": self.source,
            "range": self.range or None,
            "place": self.place,
            "meaning": self.field.meaning,
            "allowed": self.field.values,
        }


@dataclass(frozen=True, slots=True)
class ModelSheet:
    """A model sheet: the parts that it may be the sheet of, by family and name, and the class beside it, if there is one."""

    name: str
    kind: str
    description: str
    file: Path
    dropin: Path | None
    parts: tuple[tuple[str, str], ...]
    parameters: tuple[SheetParameter, ...]


@cache
def standard_parts() -> dict[str, type[Part]]:
    """The standard class of each kind of sheet."""
    return {part.kind: part for family in FAMILIES.values() for part in family.parts().values()}


def read_model_sheet(name: str | Path) -> ModelSheet:
    """A model sheet by name or path. Errors: InputError for an unknown one, or for what is no sheet of a kind of part."""
    path = library.find("models", name)
    tree = load(path)
    sheet = check(Sheet, tree)
    standard = standard_parts().get(sheet.kind)
    if standard is None:
        mark = tree.value["kind"].mark
        raise InputError(f"{mark}: unknown kind {sheet.kind!r}; known: {', '.join(sorted(standard_parts()))}")
    beside = dropin.find_file(path)
    part = dropin.load_class(beside, standard) if beside else standard
    given = dict(sheet.items())
    return ModelSheet(
        name=path.stem,
        kind=sheet.kind,
        description=sheet.description,
        file=path,
        dropin=beside,
        parts=tuple(
            (family, name)
            for family, found in FAMILIES.items()
            for name, kind in found.kinds().items()
            if kind == sheet.kind
        ),
        parameters=tuple(
            _parameter(field, given[field.path], tree) for field in describe_fields(part) if field.path in given
        ),
    )


def sheets_of_kind(kind: str) -> list[str]:
    """The names of all sheets of a kind of part; a file that is no sheet is left out."""
    found: list[str] = []
    for name in library.list_names("models"):
        try:
            tree = load(library.find("models", name))
        except InputError:
            continue
        if is_mapping(tree.value) and "kind" in tree.value and tree.value["kind"].plain() == kind:
            found.append(name)
    return found


def _parameter(field: DescribedField, given: Parameter, tree: Marked) -> SheetParameter:
    node = find_node(tree, f"{field.path}.value") or find_node(tree, f"parameters.{field.path}.value")
    mark = "" if node is None else str(node.mark)

    def quantity(value: object) -> str:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return f"{as_text(value)} {given.unit or field.unit}".rstrip() if is_number else as_text(value)

    ends = " … ".join(map(quantity, given.range or ()))
    return SheetParameter(field, quantity(given.value), mark, given.source, ends)
