"""Jobs and bytes of the rows of a program, in one pass: see `held_servers` for why it is compiled."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.layout import codes


@jit
def add_totals(op: np.ndarray, tags: np.ndarray, own: np.ndarray, jobs: np.ndarray, moved_bytes: np.ndarray) -> None:
    """Add the number of jobs of each duration to `jobs`, int64[duration], and the bytes of transfers to theirs, int64[tag].

    Arguments: int64[row, ROW_WIDTH], int32[row], bool[row] that are counted, or bool[0] for all, and these two.
    """
    for row in range(op.shape[0]):
        if own.shape[0] > 0 and not own[row]:
            continue
        code = op[row, 0]
        if code == codes.EXEC:
            jobs[op[row, 2]] += 1
        elif code == codes.MOVE:
            moved_bytes[tags[row]] += op[row, 2]
