"""Dictionary-encoded rows: distinct values, and for each row which of them it holds.

A tile plan repeats few rows a million times. Encoded they take four bytes each instead of seventy-six, and what a reader wants
of them is often found of the values alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

_Rows = int | np.integer | slice | np.ndarray | list[int]
_EVERY = np.zeros(0, bool)


class EncodedRows(NDArrayOperatorsMixin):
    """Rows that are decoded where they are read: `rows[at]`, `rows[at, column]`, operators and numpy functions as of an array.

    Valid as long as its arrays are. It cannot be written to.
    """

    __slots__ = ("entry", "values")

    def __init__(self, values: np.ndarray, entry: np.ndarray) -> None:
        self.values = values  # [entry, ...]; there may be entries that no row holds
        self.entry = entry  # int32[row]

    def __len__(self) -> int:
        return len(self.entry)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array that this encodes."""
        return len(self.entry), *self.values.shape[1:]

    def __getitem__(self, key: _Rows | tuple[_Rows, int | slice]) -> Any:
        if isinstance(key, tuple):
            rows, column = key
            return self.values[:, column][self.entry[rows]]
        return self.values[self.entry[key]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("rows that are encoded become an array only by a copy")
        return self.values[self.entry].astype(dtype or self.values.dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        decoded = (np.asarray(given) if isinstance(given, EncodedRows) else given for given in inputs)
        return getattr(ufunc, method)(*decoded, **options)

    def tolist(self) -> list[Any]:
        """The rows as Python's own numbers."""
        return np.asarray(self).tolist()

    def counts(self, counted: np.ndarray | None = None) -> np.ndarray:
        """int64[entry] how many rows hold each, of all or of bool[row]."""
        from kernels_jit.measure.row_totals import count_entries

        found = np.zeros(len(self.values), np.int64)
        count_entries(self.entry, _EVERY if counted is None else counted, found)
        return found
