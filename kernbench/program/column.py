"""A column of a table that grows at its end and is an array at any time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Column:
    """Rows of one dtype and shape; `rows` is a view of what has been appended, `n` how many.

    The view is of storage that is replaced as the column grows: take it anew after an append.
    """

    __slots__ = ("_storage", "n", "rows")

    def __init__(self, dtype: type[np.generic] = np.int64, width: int | None = None) -> None:
        self._storage = np.zeros(256 if width is None else (256, width), dtype)
        self.n = 0
        self.rows = self._storage[:0]

    def append(self, rows: np.ndarray | Sequence[int]) -> int:
        """Append rows; returns the index of the first."""
        first = self.n
        self.extend(len(rows), rows)
        return first

    def extend(self, count: int, value: np.ndarray | Sequence[int] | int) -> None:
        """Append `count` rows of one value, or of as many values."""
        first, end = self.n, self.n + count
        if end > len(self._storage):
            bigger = np.zeros((max(end, 2 * len(self._storage)), *self._storage.shape[1:]), self._storage.dtype)
            bigger[:first] = self.rows
            self._storage = bigger
        self._storage[first:end] = value
        self.n = end
        self.rows = self._storage[:end]
