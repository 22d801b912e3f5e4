"""Append rows to a program that runs: rows go into the op table, and to the thread that goes on with them.

Compiled for the same reason as `op_rows`.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import pointer_to
from kernels_jit.layout import codes
from kernels_jit.layout.access import state_at, thread_at
from kernels_jit.simulate.event_heap import schedule


@jit
def put_rows(written: np.ndarray, owner: int, op: np.ndarray, tags: np.ndarray, owners: np.ndarray, first: int) -> None:
    """Take rows apart as they were written, int64[row * (1 + ROW_WIDTH)], each with its tag before it.

    They go into int64[row, ROW_WIDTH], int32[row] and int64[row] from row `first` on.
    """
    word = 0
    for row in range(first, first + len(written) // (1 + codes.ROW_WIDTH)):
        tags[row], owners[row] = written[word], owner
        for column in range(codes.ROW_WIDTH):
            word += 1
            op[row, column] = written[word]
        word += 1


@jit
def give_rows(words, number, first, end):
    """Give a thread rows to go on with: now, unless it is the one that goes on anyway. Returns whether it was at its end.

    There is room for an event. A thread that was not at its end is left as it is.
    """
    m = pointer_to(words)
    thread, state = thread_at(m, number), state_at(m, 0)
    if thread.cursor < thread.end:
        return False
    thread.cursor, thread.end = first, end
    if number != state.resume:
        schedule(m, state.now_fs, (codes.WAKE << codes.KIND_SHIFT) | number, 0, number)
    return True
