"""Sums of the times of operations by their tags, in one pass: see `held_servers` for why it is compiled."""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit

COUNT, QUEUED_FS, CONTENTION_FS, TOOK_FS, LONGEST_FS, COLUMNS = 0, 1, 2, 3, 4, 5


@jit
def add_by_tag(tags: np.ndarray, queued: np.ndarray, took: np.ndarray, alone: np.ndarray, sums: np.ndarray) -> None:
    """Add up the operations of each tag into `sums`, int64[tag, COLUMNS]; of the queues also the longest.

    Arguments: int32[n], and int64[n] (fs) of each operation in its queue, from start to end, and from start to end without
    contention.
    """
    for k in range(tags.shape[0]):
        tag = tags[k]
        sums[tag, COUNT] += 1
        sums[tag, QUEUED_FS] += queued[k]
        sums[tag, CONTENTION_FS] += max(took[k] - alone[k], 0)
        sums[tag, TOOK_FS] += took[k]
        sums[tag, LONGEST_FS] = max(sums[tag, LONGEST_FS], queued[k])
