"""Arrays of rows and of ranges: distinct rows, ranges written out, sparse matrices."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np


class UniqueRows(NamedTuple):
    """The distinct rows of an array, each once."""

    rows: np.ndarray  # [distinct, column]
    first: np.ndarray  # int64[distinct] the first row of the array that is equal
    which: np.ndarray  # int64[row] the distinct row that each row of the array is
    count: np.ndarray  # int64[distinct]

    def by_appearance(self) -> UniqueRows:
        """The same, in the order of their first rows."""
        order = np.argsort(self.first)
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return UniqueRows(self.rows[order], self.first[order], place[self.which], self.count[order])


def unique_rows(rows: np.ndarray) -> UniqueRows:
    """The distinct rows of an array [row, column], sorted. As `np.unique` along an axis, but several times faster."""
    if (packed := _pack(rows)) is None:
        order = np.lexsort(rows.T[::-1])
        ordered = rows[order]
        new = np.ones(len(order), bool)
        new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        which = np.empty(len(order), np.int64)
        which[order] = np.cumsum(new) - 1
    else:
        which = np.unique(packed.number, return_inverse=True)[1]
    count = np.bincount(which)
    first = np.empty(len(count), np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]  # the last that is written stays
    return UniqueRows(rows[first], first, which, count)


def count_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct rows of an array [row, column], sorted, and int64[] how many of each: faster than `unique_rows`."""
    if (packed := _pack(rows)) is None:
        found = unique_rows(rows)
        return found.rows, found.count
    number, count = np.unique(packed.number, return_counts=True)
    columns = np.unravel_index(number, packed.width)
    return (np.column_stack(columns) + packed.low).astype(rows.dtype, copy=False), count


def unique_small(numbers: np.ndarray) -> np.ndarray:
    """int64[] what small numbers there are among many, sorted: faster than `np.unique`, which sorts them."""
    found = np.zeros(int(numbers.max(initial=-1)) + 1, bool)
    found[numbers] = True
    return np.flatnonzero(found)


class _Packed(NamedTuple):
    """Rows as numbers in the same order."""

    number: np.ndarray  # int64[row]
    low: np.ndarray  # int64[column] the least value
    width: tuple[int, ...]  # by column, how many values there may be


def _pack(rows: np.ndarray) -> _Packed | None:
    """A number for each row of integers; None where the rows have no room in one."""
    if rows.dtype.kind != "i":
        return None
    columns = np.ascontiguousarray(rows.T, np.int64)
    low = columns.min(axis=1, initial=0)
    width = tuple((columns.max(axis=1, initial=0) - low + 1).tolist())
    if prod(width) >= 1 << 62:
        return None
    number = np.zeros(len(rows), np.int64)
    for column, least, values in zip(columns, low.tolist(), width, strict=True):
        number = number * values + (column - least)
    return _Packed(number, low, width)


def expand_ranges(start: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of ranges [start, end), range after range, and the range of each."""
    length = end - start
    of = np.repeat(np.arange(len(length)), length)
    return np.arange(len(of)) - np.repeat(np.cumsum(length) - length - start, length), of


def make_sparse(row: np.ndarray, column: np.ndarray, value: np.ndarray, shape: tuple[int, int]) -> Any:
    """A sparse float64 matrix of values, int64[n] rows and columns; values of one place add up."""
    from scipy.sparse import csr_array  # pyright: ignore[reportMissingTypeStubs]

    return csr_array((value.astype(float), (row, column)), shape)
