"""Texts that events name by a number: each distinct text is written once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from kernbench.trace.packets import write_packet
from kernbench.trace.wire import Messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars

_INTERNED_DATA = 12  # in TracePacket
_CATEGORIES, _NAMES, _ARGUMENT_NAMES, _ARGUMENT_TEXTS = 1, 2, 3, 29  # in InternedData
_IID, _TEXT = 1, 2  # in each of its entries
_AT_ONCE = 1 << 10  # texts in a packet


@dataclass(slots=True)
class Interned:
    """The distinct texts of a column, numbered from 1; int64[row] the number of each row's text, 0 for null."""

    texts: list[str]
    iid: np.ndarray

    @classmethod
    def of(cls, column: polars.Series) -> Interned:
        """The texts in the order of their first rows."""
        import polars

        texts = column.drop_nulls().unique(maintain_order=True)
        code = column.cast(polars.Enum(texts)).to_physical().cast(polars.Int64)
        return cls(texts.to_list(), (code + 1).fill_null(0).to_numpy())

    def write_names(self, file: BinaryIO) -> None:
        """Write the texts as names of events."""
        _write(file, _NAMES, self.texts, 1)

    def write_categories(self, file: BinaryIO) -> None:
        """Write the texts as categories of events."""
        _write(file, _CATEGORIES, self.texts, 1)


def write_argument_names(file: BinaryIO, names: Sequence[str]) -> None:
    """Write names of arguments, numbered from 1."""
    _write(file, _ARGUMENT_NAMES, names, 1)


def write_argument_texts(file: BinaryIO, texts: Sequence[str], first: int) -> None:
    """Write texts that are values of arguments, numbered from a number on."""
    _write(file, _ARGUMENT_TEXTS, texts, first)


def _write(file: BinaryIO, kind: int, texts: Sequence[str], first: int) -> None:
    for at in range(0, len(texts), _AT_ONCE):
        found = Messages()
        for number, text in enumerate(texts[at : at + _AT_ONCE], first + at):
            found.message(kind, Messages().number(_IID, number).text(_TEXT, text))
        write_packet(file, Messages().message(_INTERNED_DATA, found))
