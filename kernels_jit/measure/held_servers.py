"""Servers that rows hold, and how long: the one pass over all rows that the metrics of a run need.

Compiled, because a program of a large GEMM has millions of rows, and numpy would write as many numbers at each step.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import pointer_to
from kernels_jit.layout import codes
from kernels_jit.layout.access import time_at

NO_SERVER = -1  # a transfer that holds none
NOTHING = -2  # a row that holds nothing and moves nothing


@jit
def find_held_servers(op: np.ndarray, held: np.ndarray) -> None:
    """Write the server that rows of each entry hold into `held`, int32[entry], or NO_SERVER or NOTHING.

    Arguments: int64[entry, ROW_WIDTH], int32[entry].
    """
    for entry in range(op.shape[0]):
        code = op[entry, 0]
        held[entry] = op[entry, 5] if code == codes.MOVE else op[entry, 1] if code == codes.EXEC else NOTHING


@jit
def sum_held(held: np.ndarray, entry: np.ndarray, counted: np.ndarray, times: np.ndarray, busy_fs: np.ndarray) -> int:
    """Add the time from start to end of each counted row to its server; returns how many of these have no end.

    Arguments: int32[entry] of `find_held_servers`, int32[row], bool[row], TIME[row], float64[server], since the sum over many
    slots need not fit into 64 bits.
    """
    own, missing = pointer_to(times), 0
    for row in range(entry.shape[0]):
        server = held[entry[row]] if counted[row] else NOTHING
        if server == NOTHING:
            continue
        time = time_at(own, row)
        if time.end_fs == codes.NONE:
            missing += 1
        elif server != NO_SERVER:
            busy_fs[server] += time.end_fs - time.start_fs
    return missing
