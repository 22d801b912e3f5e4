"""Rows of a table by numbers that are known before the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernbench.dtypes import itemsize
from kernbench.workloads.kernels.layout import CUBES, PES


def gather(table_ptr: int, y_ptr: int, rows: Sequence[int], width: int, each: int, dtype: str, tl: Any) -> None:
    """y (rows, width) = the rows of a table; a PE writes those that begin among its `each` elements of y."""
    pe = tl.program_id(CUBES) * tl.num_programs(PES) + tl.program_id(PES)
    size = itemsize(dtype)
    for place in range(-(-pe * each // width), min(len(rows), -(-(pe + 1) * each // width))):
        tl.store(y_ptr + place * width * size, tl.load(table_ptr + rows[place] * width * size, (1, width), dtype))
