"""`kernbench show` of machines and model sheets, and the fields in which two of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernbench.errors import InputError, suggest
from kernbench.frontends.shown import Row, Section, Shown, matching
from kernbench.library import show_path
from kernbench.machine.sheets.field_values import SET_BY_TOPOLOGY, FieldValue, ShownTopology, show_topology
from kernbench.machine.sheets.model_sheets import ModelSheet, read_model_sheet, sheets_of_kind
from kernbench.schema.described import SHEETS, DescribedField

COLUMNS = {"field": "field", "value": "value", "range": "range", "meaning": "meaning", "source": "source"}
CLOSER = {
    "field": "field",
    "value": "value",
    "range": "range",
    "allowed": "may be",
    "meaning": "meaning",
    "source": "source",
}


def show_machine(name: str, overrides: Mapping[str, str], prefix: str | None) -> Shown:
    """A machine with all its fields, or those below a prefix. Errors: InputError as `load_machine`, and for the prefix."""
    found = show_topology(name, overrides)
    columns = CLOSER if prefix else COLUMNS
    general = [_row(one) for one in found.fields if prefix or not one.path.startswith(SHEETS)]
    sections = [Section("the machine and its layout", general, columns)]
    for part, shown in found.parts.items():
        title = f"{part}: {shown.description} ({show_path(shown.sheet)})"
        sections.append(Section(title, [_row(one) for one in shown.fields], columns))
    sections = [section for section in sections if section.rows]
    data = {
        "name": found.name,
        "kind": "machine",
        "family": found.family,
        "description": found.description,
        "file": str(found.file),
        "sheets": {part: str(shown.sheet) for part, shown in found.parts.items()},
        "fields": [one.to_dict() for one in found.all_fields],
    }
    whole = Shown(
        found.name,
        f"machine of family {found.family}",
        found.description,
        show_path(found.file),
        sections,
        data,
        remarks=[
            f"--set topology.FIELD=VALUE sets a field; kernbench show {found.name} FIELD says which values it takes",
            "--set topology.parts.PART=SHEET chooses another sheet for a part",
        ],
    )
    return whole.only(prefix) if prefix else whole


def show_sheet(name: str, prefix: str | None) -> Shown:
    """A model sheet with its parameters. Errors: InputError as `read_model_sheet`, and for the prefix."""
    found = read_model_sheet(name)
    rows = [
        {
            "field": one.field.path,
            "value": one.written,
            "range": one.range,
            "allowed": _allowed(one.field),
            "meaning": one.field.meaning,
            "source": one.source,
        }
        for one in found.parameters
    ]
    beside = f", with the class {show_path(found.dropin)}" if found.dropin else ""
    data = {
        "name": found.name,
        "kind": "sheet",
        "part": found.kind,
        "description": found.description,
        "file": str(found.file),
        "class": str(found.dropin) if found.dropin else None,
        "parts": [{"family": family, "part": part} for family, part in found.parts],
        "fields": [one.to_dict() for one in found.parameters],
    }
    place = f"{show_path(found.file)}{beside}"
    sections = [Section("", rows, CLOSER if prefix else COLUMNS)] if rows else []
    shown = Shown(found.name, f"model sheet of kind {found.kind}", found.description, place, sections, data,
                  remarks=_use(found))  # fmt: skip
    return shown.only(prefix) if prefix else shown


def show_difference(kind: str, names: tuple[str, str], overrides: Mapping[str, str], prefix: str | None) -> Shown:
    """The fields in which two machines or two sheets differ, with both values. Errors: InputError."""
    a, b = (_fields(kind, name, overrides) for name in names)
    paths = list(dict.fromkeys([*a, *b]))
    if prefix:
        wanted = set(matching(prefix, paths))
        if not wanted:
            raise InputError(f"neither {names[0]} nor {names[1]} has a field {prefix!r}{suggest(prefix, paths)}")
        paths = [path for path in paths if path in wanted]
    absent: tuple[DescribedField | None, str, Any] = (None, "–", None)
    differing: list[dict[str, Any]] = []
    for path in paths:
        (of_a, text_a, value_a), (of_b, text_b, value_b) = a.get(path, absent), b.get(path, absent)
        if value_a != value_b or (of_a is None) != (of_b is None):
            meaning = next(one.meaning for one in (of_a, of_b) if one is not None)
            differing.append(
                {"field": path, "a": text_a, "b": text_b, "values": [value_a, value_b], "meaning": meaning}
            )
    rows: list[Row] = [{key: str(one[key]) for key in ("field", "a", "b", "meaning")} for one in differing]
    columns = {"field": "field", "a": names[0], "b": names[1], "meaning": "meaning"}
    data = {"kind": kind, "a": names[0], "b": names[1], "compared": len(paths), "fields": differing}
    count = f"{len(differing)} of {len(paths)} fields differ"
    return Shown(" and ".join(names), f"{kind}s", count, "both read and checked",
                 [Section("", rows, columns)] if rows else [], data)  # fmt: skip


def _fields(kind: str, name: str, overrides: Mapping[str, str]) -> dict[str, tuple[DescribedField | None, str, Any]]:
    if kind == "sheet":
        return {one.field.path: (one.field, one.written, one.written) for one in read_model_sheet(name).parameters}
    found: ShownTopology = show_topology(name, overrides)
    return {one.path: (one.field, one.written, one.value) for one in found.all_fields if one.path != "description"}


def _row(one: FieldValue) -> Row:
    return {
        "field": one.path,
        "value": one.written,
        "range": one.shown_range,
        "allowed": _allowed(one.field),
        "meaning": one.field.meaning,
        "source": one.short_place.rpartition(":")[0] if one.source == SET_BY_TOPOLOGY else one.source,
    }


def _allowed(one: DescribedField) -> str:
    return f"{one.values} {one.unit}".rstrip() if one.unit not in ("", "B") and not one.choices else one.values


def _use(found: ModelSheet) -> Sequence[str]:
    """Which parts the sheet may be of, and what may be there in its place."""
    if not found.parts:
        return []
    family, part = next(((family, part) for family, part in found.parts if part == found.name), found.parts[0])
    others = [name for name in sheets_of_kind(found.kind) if name != found.name]
    instead = f"; other sheets of this kind: {', '.join(others)}" if others else ""
    return [f"--set topology.parts.{part}={found.name} chooses it on machines of family {family}{instead}"]
