"""Spreading activations to all cubes, in passing with what a norm needs of them."""

from __future__ import annotations

from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES, own_rows, rows_in_cube


def spread(x_ptr: int, y_ptr: int, rows: int, tokens: int, dtype: str, tl: Any) -> None:
    """Each PE of a cube brings its share of the rows of x, which lies over all PEs, to the copy of its cube."""
    for first, end in _turned(tl, rows):
        at = first * tokens * itemsize(dtype)
        tl.store(y_ptr + at, tl.load(x_ptr + at, (end - first, tokens), dtype))


def spread_norm(
    x_ptr: int, y_ptr: int, weight_ptr: int, sums: tuple[int, int], rows: int, tokens: int, dtype: str, tl: Any
) -> None:
    """As `spread`, of x times the weights of a norm, with the sums from which its readers finish the norm.

    `sums` are two tensors (PEs of a cube, tokens) in the cubes: of the squares, and of the elements.
    """
    size, squares, elements = itemsize(dtype), None, None
    for first, end in _turned(tl, rows):
        x = tl.load(x_ptr + first * tokens * size, (end - first, tokens), dtype)
        weight = tl.load(weight_ptr + first * size, (end - first, 1), dtype)
        ones = tl.full((1, end - first), 1.0, dtype)
        squares = tl.dot(ones, x * x, squares, out_dtype="f32")
        elements = tl.dot(ones, x, elements, out_dtype="f32")
        tl.store(y_ptr + first * tokens * size, x * weight)
    if squares is not None:
        mine = tl.program_id(PES) * tokens * itemsize("f32")
        tl.store(sums[0] + mine, squares)
        tl.store(sums[1] + mine, elements)


def spread_heads(x_ptr: int, y_ptr: int, heads: int, width: int, tokens: int, dtype: str, tl: Any) -> None:
    """As `spread`, of what attention leaves: x (heads, tokens, width) becomes y (heads x width, tokens)."""
    first, end = rows_in_cube(tl, heads)
    size = itemsize(dtype)
    for head in range(first, end):
        at = head * tokens * width * size
        tl.store(y_ptr + at, tl.trans(tl.load(x_ptr + at, (tokens, width), dtype)))


def add(x_ptr: int, y_ptr: int, rows: int, tokens: int, dtype: str, tl: Any) -> None:
    """x += y, each PE its own rows."""
    first, end = own_rows(tl, rows)
    if first < end:
        at, shape = first * tokens * itemsize(dtype), (end - first, tokens)
        tl.store(x_ptr + at, tl.load(x_ptr + at, shape, dtype) + tl.load(y_ptr + at, shape, dtype))


def _turned(tl: Any, rows: int) -> list[tuple[int, int]]:
    """A PE's rows in a cube as two ranges, begun elsewhere in each cube, so that cubes do not all read one memory at a time."""
    first, end = rows_in_cube(tl, rows)
    cut = first + (end - first) * tl.program_id(CUBES) // tl.num_programs(CUBES)
    return [(a, b) for a, b in ((cut, end), (first, cut)) if a < b]
