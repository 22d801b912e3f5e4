"""Texts that events name by a number: each distinct text is written once, before the first event that names it."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from kernbench.trace.packets import write_packet
from kernbench.trace.wire import Messages

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars

CATEGORIES, NAMES, ARGUMENT_NAMES, ARGUMENT_TEXTS = 1, 2, 3, 29  # in InternedData
_INTERNED_DATA = 12  # in TracePacket
_IID, _TEXT = 1, 2  # in each of its entries
_AT_ONCE = 1 << 10  # texts in a packet


class Interned:
    """The distinct texts of one kind, numbered from 1 in the order in which they come."""

    def __init__(self, kind: int, file: BinaryIO) -> None:
        self._kind, self._file = kind, file
        self._number: dict[str, int] = {}

    def number(self, column: polars.Series) -> np.ndarray:
        """int64[row] the number of each text of a column, 0 for null; those that are new are written."""
        import polars

        texts = column.drop_nulls().unique(maintain_order=True)
        numbers = self.add(texts.to_list())
        code = column.cast(polars.Enum(texts)).to_physical().cast(polars.Int64).fill_null(len(numbers)).to_numpy()
        return np.append(numbers, 0)[code]

    def add(self, texts: Iterable[str]) -> np.ndarray:
        """int64[text] the numbers of texts; those that are new are written."""
        known = len(self._number)
        found = [self._number.setdefault(text, len(self._number) + 1) for text in texts]
        self._write(list(self._number)[known:] if len(self._number) > known else [], known + 1)
        return np.array(found, np.int64)

    def _write(self, texts: list[str], first: int) -> None:
        for at in range(0, len(texts), _AT_ONCE):
            found = Messages()
            for number, text in enumerate(texts[at : at + _AT_ONCE], first + at):
                found.message(self._kind, Messages().number(_IID, number).text(_TEXT, text))
            write_packet(self._file, Messages().message(_INTERNED_DATA, found))
