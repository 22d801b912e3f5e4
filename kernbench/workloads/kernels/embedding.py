"""Looking up the rows of tokens in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import own_rows


def embed(
    table_ptr: int,
    places_ptr: int,
    identity_ptr: int,
    y_ptr: int,
    ids: Sequence[int],
    place: int,
    d: int,
    dtype: str,
    tl: Any,
) -> None:
    """y (d, tokens) = the rows `ids` of a table (vocabulary, d), and of a table of positions if there is one, over PEs."""
    first, end = own_rows(tl, d)
    if first >= end:
        return
    size, tokens, width = itemsize(dtype), len(ids), end - first
    y: Any = None
    for column, token in enumerate(ids):
        row = tl.load(table_ptr + (token * d + first) * size, (1, width), dtype)
        if tokens == 1:
            y = tl.trans(row)
            continue
        pick = tl.load(identity_ptr + column * tokens * size, (1, tokens), dtype)
        before, y = y, tl.dot(tl.trans(row), pick, y)
        if before is not None:
            tl.release(before)
    if places_ptr:
        y = y + tl.load(places_ptr + (place * d + first) * size, (width, 1), dtype)
    tl.store(y_ptr + first * tokens * size, y)
