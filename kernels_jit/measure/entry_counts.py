"""How many rows of an op table hold each entry; compiled, because numpy would copy millions of numbers first."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit


@jit
def count_entries(entry: np.ndarray, counted: np.ndarray, count: np.ndarray) -> None:
    """Add the rows that hold each entry to `count`, int64[entry].

    Arguments: int32[row], bool[row] that count, or bool[0] for all, and this one.
    """
    for row in range(entry.shape[0]):
        if counted.shape[0] == 0 or counted[row]:
            count[entry[row]] += 1
