"""A growable array: rows are appended at its end, and it is a numpy array at any time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class GrowableArray:
    """Rows of one dtype; `n` is their number."""

    __slots__ = ("_storage", "n")

    def __init__(self, dtype: type[np.generic] = np.int64) -> None:
        self._storage = np.zeros(256, dtype)
        self.n = 0

    @property
    def rows(self) -> np.ndarray:
        """A view of the rows, valid until the next append."""
        return self._storage[: self.n]

    def append(self, rows: np.ndarray | Sequence[int]) -> int:
        """Append rows; returns the index of the first."""
        return self.extend(len(rows), rows)

    def extend(self, count: int, value: np.ndarray | Sequence[int] | int) -> int:
        """Append `count` rows of one value, or of `count` values; returns the index of the first."""
        first = self.n
        end = self.n = first + count
        if end > len(self._storage):
            self._storage = enlarged(self._storage, first, end)
        self._storage[first:end] = value
        return first


def enlarged(storage: np.ndarray, used: int, needed: int) -> np.ndarray:
    """A copy with room for twice as many rows, or for `needed` if that is more; rows from `used` on hold anything."""
    bigger = np.empty((max(needed, 2 * len(storage)), *storage.shape[1:]), storage.dtype)
    bigger[:used] = storage[:used]
    return bigger
