"""Rows of a table by numbers that are known before the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import own_rows


def gather(table_ptr: int, y_ptr: int, rows: Sequence[int], width: int, dtype: str, tl: Any) -> None:
    """y (rows, width) = the rows of a table, over PEs."""
    size = itemsize(dtype)
    for place in range(*own_rows(tl, len(rows))):
        tl.store(y_ptr + place * width * size, tl.load(table_ptr + rows[place] * width * size, (1, width), dtype))
