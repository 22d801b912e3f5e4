"""Jobs and bytes of the rows of a program, in one pass: see `held_servers` for why it is compiled."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.layout import codes


@jit
def count_entries(entry: np.ndarray, counted: np.ndarray, count: np.ndarray) -> None:
    """Add the rows that hold each entry to `count`, int64[entry].

    Arguments: int32[row], bool[row] that count, or bool[0] for all, and this one.
    """
    for row in range(entry.shape[0]):
        if counted.shape[0] == 0 or counted[row]:
            count[entry[row]] += 1


@jit
def add_totals(op: np.ndarray, tags: np.ndarray, count: np.ndarray, jobs: np.ndarray, moved_bytes: np.ndarray) -> None:
    """Add the number of jobs of each duration to `jobs`, int64[duration], and the bytes of transfers to theirs, int64[tag].

    Arguments: int64[entry, ROW_WIDTH], int32[entry], int64[entry] how many rows hold it, and these two.
    """
    for entry in range(op.shape[0]):
        code = op[entry, 0]
        if code == codes.EXEC:
            jobs[op[entry, 2]] += count[entry]
        elif code == codes.MOVE:
            moved_bytes[tags[entry]] += op[entry, 2] * count[entry]
