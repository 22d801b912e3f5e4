"""Sums of the times of operations by their tags, in one pass: see `held_servers` for why it is compiled."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import inner, jit

COUNT, LONGEST_FS, QUEUED_FS, CONTENTION_FS, TOOK_FS, COLUMNS = 0, 1, 2, 4, 6, 8  # sums take two columns: see `add`
CARRY_SHIFT = 32
_LOW = (1 << CARRY_SHIFT) - 1


@inner
def add(sums, tag, column, fs):
    """Add a time to the sum in a column and, times 2^CARRY_SHIFT, the next: many operations wait at once."""
    low = sums[tag, column] + (fs & _LOW)
    sums[tag, column] = low & _LOW
    sums[tag, column + 1] += (fs >> CARRY_SHIFT) + (low >> CARRY_SHIFT)


@jit
def add_by_tag(tags: np.ndarray, queued: np.ndarray, took: np.ndarray, alone: np.ndarray, sums: np.ndarray) -> None:
    """Add up the operations of each tag into `sums`, int64[tag, COLUMNS]; of the queues also the longest.

    Arguments: int32[n], and int64[n] (fs) of each operation in its queue, from start to end, and from start to end without
    contention.
    """
    for k in range(tags.shape[0]):
        tag = tags[k]
        sums[tag, COUNT] += 1
        sums[tag, LONGEST_FS] = max(sums[tag, LONGEST_FS], queued[k])
        add(sums, tag, QUEUED_FS, queued[k])
        add(sums, tag, CONTENTION_FS, max(took[k] - alone[k], 0))
        add(sums, tag, TOOK_FS, took[k])
