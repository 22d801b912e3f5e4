"""Times that end with the clock: what would come later comes at NEVER (docs/engine.md, "What fits into a word")."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner
from kernels_jit.layout.records import NEVER

_FAR = 1.5 * NEVER  # what is less by an estimate fits into a word; the rest is beyond the clock


@inner
def after(fs, count, more_fs):
    """A time and `count` times `more_fs` later, or NEVER if that is beyond the clock: the product need not fit into a word."""
    if np.float64(fs) + np.float64(count) * np.float64(more_fs) >= _FAR:
        return NEVER
    return min(fs + count * more_fs, NEVER)
