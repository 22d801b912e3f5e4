"""Servers that rows hold, and how long: the one pass over all rows that the metrics of a run need.

Compiled, because a program of a large GEMM has millions of rows of 64 bytes, and numpy would read all of them for each step.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import pointer_to
from kernels_jit.layout import codes
from kernels_jit.layout.access import time_at

NO_SERVER = -1  # a transfer that holds none
NOT_COUNTED = -2  # a row that holds nothing and moves nothing, or is not asked for


@jit
def find_held_servers(op: np.ndarray, counted: np.ndarray, held: np.ndarray) -> None:
    """Write the server that each row holds into `held`, int32[row], or NO_SERVER or NOT_COUNTED.

    Arguments: int64[row, ROW_WIDTH], bool[row], int32[row].
    """
    for row in range(op.shape[0]):
        held[row] = NOT_COUNTED
        if not counted[row]:
            continue
        code = op[row, 0]
        if code == codes.MOVE:
            held[row] = op[row, 5]
        elif code == codes.EXEC:
            held[row] = op[row, 1]


@jit
def sum_held(held: np.ndarray, times: np.ndarray, busy_fs: np.ndarray) -> int:
    """Add the time from start to end of each row to its server; returns how many counted rows have no end.

    Arguments: int32[row] of `find_held_servers`, TIME[row], int64[server].
    """
    own, missing = pointer_to(times), 0
    for row in range(held.shape[0]):
        if held[row] == NOT_COUNTED:
            continue
        time = time_at(own, row)
        if time.end_fs == codes.NONE:
            missing += 1
        elif held[row] != NO_SERVER:
            busy_fs[held[row]] += time.end_fs - time.start_fs
    return missing
