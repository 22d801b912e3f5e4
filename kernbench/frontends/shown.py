"""What `kernbench show` prints, whatever the kind of thing: a head, a text, and tables of fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernbench.errors import InputError, suggest

Row = Mapping[str, str]
FIELD = "field"  # the key of a row by which rows are filtered
_TYPES = {
    "Written": "what only running the file tells",
    "int": "whole number",
    "float": "number",
    "bool": "true, false",
    "str": "text",
}


@dataclass(frozen=True, slots=True)
class Section:
    """A table: its title, its rows of texts, and the heading of each key of a row that is shown."""

    title: str
    rows: Sequence[Row]
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Shown:
    """One thing that has a name: what it is, where it is, and its fields. `data` is what `--json` prints."""

    name: str
    kind: str
    description: str
    place: str
    sections: Sequence[Section]
    data: Mapping[str, Any]
    text: str = ""
    remarks: Sequence[str] = field(default_factory=list[str])  # sentences below the tables

    def only(self, prefix: str) -> Shown:
        """The same with the fields of a prefix alone, see `matching`. Errors: InputError if there is none."""
        fields = [row[FIELD] for section in self.sections for row in section.rows if FIELD in row]
        wanted = set(matching(prefix, fields))
        if not wanted:
            raise InputError(f"{self.name} has no field {prefix!r}{suggest(prefix, _near(prefix, fields))}")
        kept = (
            Section(section.title, rows, section.columns)
            for section in self.sections
            if (rows := [row for row in section.rows if row.get(FIELD) in wanted])
        )
        data = {**self.data, "fields": [one for one in self.data["fields"] if one[FIELD] in wanted]}
        return Shown(self.name, self.kind, self.description, self.place, list(kept), data)


def matching(prefix: str, fields: Sequence[str]) -> list[str]:
    """The fields at a dotted prefix or below it, else those whose paths begin with it, else those whose paths hold it.

    `topology.` before it is left out.
    """
    prefix = prefix.removeprefix("topology.") if prefix not in fields else prefix
    below = [one for one in fields if f"{one}.".startswith(f"{prefix}.")]
    return below or [one for one in fields if one.startswith(prefix)] or [one for one in fields if prefix in one]


def _near(prefix: str, fields: Sequence[str]) -> Sequence[str]:
    """The fields whose names hold the last part of a prefix, else those of its section, else all sections."""
    head, dot, last = prefix.rpartition(".")
    holding = [one for one in fields if last in one]
    beside = [one for one in fields if dot and one.startswith(f"{head}.")]
    return holding or beside or list(dict.fromkeys(one.partition(".")[0] for one in fields))


def show_value(value: object) -> str:
    """A value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if value != "" else '""'


def show_type(value: object) -> str:
    """What values are like one, in words."""
    return _TYPES.get(type(value).__name__, type(value).__name__)
