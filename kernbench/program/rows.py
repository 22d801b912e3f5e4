"""Rows as front-ends write them: packed into bytes, a tag and the ROW_WIDTH integers of the op table each.

A kernel writes the same rows a million times, with another address here and there. Packed, what repeats is written out
once and appended whole, and a thread's rows become an array at once (`OpTable.write`).
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from kernbench.program.ops import ROW_WIDTH

_ROW = Struct(f"{1 + ROW_WIDTH}q")
ROW_BYTES = _ROW.size

pack_row = _ROW.pack  # (tag, opcode, seven operands) → the row as bytes; several rows are their sum


def pack_rows(rows: np.ndarray, tag: int = 0) -> bytes:
    """int64[row, ROW_WIDTH] rows of one tag."""
    return np.insert(rows, 0, tag, axis=1).tobytes()


def count_rows(rows: bytes) -> int:
    """How many rows these are."""
    return len(rows) // ROW_BYTES
