"""Packed rows, in which front-ends write: a tag and the ROW_WIDTH integers of the op table, as bytes.

A kernel writes the same rows a million times, with few other addresses. Packed rows that repeat are made once and appended
together, and the rows of a thread become one array in one step (`OpTable.write`).
"""

from __future__ import annotations

from struct import Struct

import numpy as np

from kernbench.program.ops import ROW_WIDTH

_ROW = Struct(f"{1 + ROW_WIDTH}q")
ROW_BYTES = _ROW.size

pack_row = _ROW.pack  # (tag, opcode, seven operands) → the row as bytes; several rows are their sum


def pack_rows(rows: np.ndarray, tag: int = 0) -> bytes:
    """Pack rows of one tag, int64[row, ROW_WIDTH]."""
    return np.insert(rows, 0, tag, axis=1).tobytes()


def count_rows(rows: bytes) -> int:
    """The number of packed rows."""
    return len(rows) // ROW_BYTES
