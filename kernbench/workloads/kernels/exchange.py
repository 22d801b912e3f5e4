"""Tokens to the ranks of their experts and back: each PE moves its own features, columns by products with ones and zeros.

A *block* has a column, a slot, for each place that one rank sends to another; all blocks are as wide as the widest.
"""

from __future__ import annotations

from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import own_rows
from kernbench.workloads.kernels.results import narrow


def dispatch(
    x_ptr: int, columns_ptr: int, out_ptrs: tuple[int, ...], sizes: tuple[int, int, int], dtype: str, tl: Any
) -> None:
    """Blocks (features, slots) of x (features, columns); `columns`, (blocks x slots, 1) in f32, has the column of each slot."""
    features, columns, slots = sizes
    first, end = own_rows(tl, features)
    if first >= end:
        return
    size = itemsize(dtype)
    x = tl.load(x_ptr + first * columns * size, (end - first, columns), dtype)
    for block, out_ptr in enumerate(out_ptrs):
        mask = _mask(tl, columns_ptr + block * slots * 4, slots, columns)
        found = tl.dot(x, tl.trans(mask), out_dtype=dtype)
        tl.store(out_ptr + first * slots * size, found)
        tl.release(mask)
        tl.release(found)


def arrange(
    block_ptrs: tuple[int, ...],
    columns_ptr: int,
    ptrs: tuple[int, int],
    sizes: tuple[int, int, int, int],
    dtype: str,
    tl: Any,
) -> None:
    """y (features, columns): the slots of blocks at the columns of each, and the tokens of x, if any, behind them.

    `ptrs` are x and y; sizes are features, columns, slots of a block and tokens of x.
    """
    features, columns, slots, tokens = sizes
    first, end = own_rows(tl, features)
    if first >= end:
        return
    size, total = itemsize(dtype), None
    for block, block_ptr in enumerate(block_ptrs):
        mask = _mask(tl, columns_ptr + block * slots * 4, slots, columns)
        part = tl.load(block_ptr + first * slots * size, (end - first, slots), dtype)
        total = _add_product(tl, part, mask, total)
    if tokens:
        own = tl.load(ptrs[0] + first * tokens * size, (end - first, tokens), dtype)
        total = _add_product(tl, own, _mask(tl, columns_ptr + len(block_ptrs) * slots * 4, tokens, columns), total)
    tl.store(ptrs[1] + first * columns * size, narrow(tl, total, dtype))


def collect(
    block_ptrs: tuple[int, ...],
    lists: tuple[int, int],
    own: tuple[int, int, int, int],
    ptrs: tuple[int, int],
    sizes: tuple[int, int, int],
    dtype: str,
    tl: Any,
) -> None:
    """y (features, tokens): slots of blocks times their weights, summed by token, with a residual.

    `lists` are (blocks x slots, 1) tokens, in f32, and weights. `own`, if it has columns, is a tensor (features, columns), and
    a list of the columns of this rank's tokens that begins at an element. `ptrs` are the residual, or 0, and y.
    """
    features, tokens, slots = sizes
    first, end = own_rows(tl, features)
    if first >= end:
        return
    size, total = itemsize(dtype), None
    shape, at = (end - first, tokens), first * tokens * size
    for block, block_ptr in enumerate(block_ptrs):
        mask = _mask(tl, lists[0] + block * slots * 4, slots, tokens)
        shares = mask * tl.load(lists[1] + block * slots * size, (slots, 1), dtype)
        tl.release(mask)
        part = tl.load(block_ptr + first * slots * size, (end - first, slots), dtype)
        total = _add_product(tl, part, shares, total)
    own_ptr, columns, columns_ptr, before = own
    if columns:
        mine = tl.load(own_ptr + first * columns * size, (end - first, columns), dtype)
        mask = _mask(tl, columns_ptr + before * 4, tokens, columns)
        total = _add_product(tl, mine, tl.trans(mask), total)
    residual_ptr, y_ptr = ptrs
    if residual_ptr:
        total = total + tl.load(residual_ptr + at, shape, dtype)
    tl.store(y_ptr + at, narrow(tl, total, dtype))


def _add_product(tl: Any, x: Any, mask: Any, total: Any) -> Any:
    """f32: x times a mask, added to a total; mask and total are released."""
    found = tl.dot(x, mask, total, out_dtype="f32")
    tl.release(mask)
    if total is not None:
        tl.release(total)
    return found


def _mask(tl: Any, places_ptr: int, rows: int, columns: int) -> Any:
    """(rows, columns): 1 at the column that a list names for each row, all zeros for a row of none."""
    return tl.equal(tl.load(places_ptr, (rows, 1), "f32"), tl.arange(0, columns))
