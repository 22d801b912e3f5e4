"""Arrays aligned to cache lines, so that a row of eight words is one line and not parts of two."""

from __future__ import annotations

import numpy as np

_LINE = 16  # words; lines of 8 come in pairs


def aligned_zeros(count: int) -> np.ndarray:
    """int64[count] zeros. As with `np.zeros`, memory is not touched until it is written."""
    room = np.zeros(count + _LINE, np.int64)
    first = -(room.ctypes.data // room.itemsize) % _LINE
    return room[first : first + count]
