"""What a machine was made of, for readers: the figures of its parts as they are written, each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


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

    @classmethod
    def from_plain(cls, file: str, text: str, parts: Mapping[str, tuple[str, str, list[list[str]]]]) -> Description:
        """A description that went through JSON."""
        found = {
            name: PartText(about, sheet, tuple(FieldText(*field) for field in fields))
            for name, (about, sheet, fields) in parts.items()
        }
        return cls(file, text, found)
