"""Spreading activations to all cubes, and adding them."""

from __future__ import annotations

from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES, own_rows, rows_in_cube
from kernbench.workloads.kernels.panels import Copies, Panel, cut_rows

ADDED_BYTES = 1 << 18  # of sums at a time


def spread(x_ptr: int, y_ptr: int, rows: int, panel: tuple[int, int], dtype: str, tl: Any) -> None:
    """Each PE of a cube brings its share of the rows of a panel of x, which lies over all PEs, to the copy of its cube."""
    (first, end), size, (_, tokens) = rows_in_cube(tl, rows), itemsize(dtype), panel
    if first < end:
        x = tl.load(x_ptr + Panel(*panel).at(rows, first) * size, (end - first, tokens), dtype)
        tl.store(y_ptr + first * tokens * size, x)


def spread_heads(x_ptr: int, y_ptr: int, heads: int, width: int, tokens: int, dtype: str, tl: Any) -> None:
    """As `spread`, of what attention leaves: x (heads, tokens, width) becomes y (heads x width, tokens)."""
    first, end = rows_in_cube(tl, heads)
    size = itemsize(dtype)
    for head in range(first, end):
        at = head * tokens * width * size
        tl.store(y_ptr + at, tl.trans(tl.load(x_ptr + at, (tokens, width), dtype)))


def place_heads(
    x_ptr: int, y_ptr: int, heads: int, width: int, panel: tuple[int, int], copies: Copies, dtype: str, tl: Any
) -> None:
    """As `spread_heads`, to the copies of a panel of y."""
    size, pes, (_, tokens) = itemsize(dtype), tl.num_programs(PES), panel
    for head in range(tl.program_id(CUBES) * pes + tl.program_id(PES), heads, pes * tl.num_programs(CUBES)):
        x = tl.load(x_ptr + head * tokens * width * size, (tokens, width), dtype)
        for copy in copies.list_all(Panel(*panel)):
            tl.store(y_ptr + copy.at(heads * width, head * width) * size, tl.trans(x))


def add(x_ptr: int, y_ptr: int, rows: int, tokens: int, dtype: str, tl: Any) -> None:
    """x += y, each PE its own rows."""
    for first, end in cut_rows(own_rows(tl, rows), ADDED_BYTES // (tokens * itemsize(dtype))):
        at, shape = first * tokens * itemsize(dtype), (end - first, tokens)
        total = tl.load(x_ptr + at, shape, dtype) + tl.load(y_ptr + at, shape, dtype)
        tl.store(x_ptr + at, total)
        tl.release(total)
