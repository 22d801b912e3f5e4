"""Packed rows, in which front-ends write: a tag and the ROW_WIDTH integers of the op table, as bytes.

A kernel writes the same rows a million times, with few other addresses. Packed rows that repeat are made once and appended
together, and the rows of a thread become one array in one step (`OpTable.write`).
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

import numpy as np

from kernbench.program.ops import NONE, ROW_WIDTH, Op

_ROW = Struct(f"{1 + ROW_WIDTH}q")
ROW_BYTES = _ROW.size
_MOVE, _ARRIVE = int(Op.MOVE), int(Op.ARRIVE)

pack_row = _ROW.pack  # (tag, opcode, seven operands) → the row as bytes; several rows are their sum


def pack_rows(rows: np.ndarray, tag: int = 0) -> bytes:
    """Pack rows of one tag, int64[row, ROW_WIDTH]."""
    return np.insert(rows, 0, tag, axis=1).tobytes()


def count_rows(rows: bytes) -> int:
    """The number of packed rows."""
    return len(rows) // ROW_BYTES


def pack_multicast(
    route: int, nbytes: int, arrive: Sequence[int], stripe: int, done: int, hold: int, lead: int, tags: tuple[int, int]
) -> bytes:
    """Pack a transfer to many destinations, as `Thread.multicast`; `tags` of the transfer and of its arrivals."""
    rows = [pack_row(tags[0], _MOVE, route, nbytes, stripe, done, hold, NONE, lead)]
    rows += [pack_row(tags[1], _ARRIVE, counter, 0, 0, 0, 0, 0, 0) for counter in arrive]
    return b"".join(rows)
