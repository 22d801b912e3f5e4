"""Spreading activations to all cubes, and adding them."""

from __future__ import annotations

from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import own_rows, rows_in_cube
from kernbench.workloads.kernels.panels import cut_rows

ADDED_BYTES = 1 << 18  # of sums at a time


def spread(x_ptr: int, y_ptr: int, rows: int, tokens: int, dtype: str, tl: Any) -> None:
    """Each PE of a cube brings its share of the rows of x, which lies over all PEs, to the copy of its cube."""
    first, end = rows_in_cube(tl, rows)
    if first < end:
        at = first * tokens * itemsize(dtype)
        tl.store(y_ptr + at, tl.load(x_ptr + at, (end - first, tokens), dtype))


def spread_heads(x_ptr: int, y_ptr: int, heads: int, width: int, tokens: int, dtype: str, tl: Any) -> None:
    """As `spread`, of what attention leaves: x (heads, tokens, width) becomes y (heads x width, tokens)."""
    first, end = rows_in_cube(tl, heads)
    size = itemsize(dtype)
    for head in range(first, end):
        at = head * tokens * width * size
        tl.store(y_ptr + at, tl.trans(tl.load(x_ptr + at, (tokens, width), dtype)))


def add(x_ptr: int, y_ptr: int, rows: int, tokens: int, dtype: str, tl: Any) -> None:
    """x += y, each PE its own rows."""
    for first, end in cut_rows(own_rows(tl, rows), ADDED_BYTES // (tokens * itemsize(dtype))):
        at, shape = first * tokens * itemsize(dtype), (end - first, tokens)
        total = tl.load(x_ptr + at, shape, dtype) + tl.load(y_ptr + at, shape, dtype)
        tl.store(x_ptr + at, total)
        tl.release(total)
