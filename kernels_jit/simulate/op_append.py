"""Append rows to a program: to its op table, and while it runs to the thread that goes on with them.

Compiled for the same reason as `op_rows`; and because plans of a large GEMM have millions of rows, which are written once.
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
def fill_plans(
    rows: np.ndarray,
    row_tags: np.ndarray,
    placeholders: np.ndarray,
    stripes: np.ndarray,
    burst_bytes: int,
    numbers: np.ndarray,
    starts: np.ndarray,
    op: np.ndarray,
    tags: np.ndarray,
    owners: np.ndarray,
) -> None:
    """Write the rows of plans that differ in numbers, each from its own row of the op table on.

    Arguments: of all plans int64[stage, ROW_WIDTH], int32[stage], int64[placeholder, 3] stage, column and which number goes
    there, int64[transfer, 3] stage, bytes and which number they are added to for the place in a memory, whose channels are the
    next number, int; of each plan int64[plan, number], int64[plan]; the op table int64[row, ROW_WIDTH], int32[row], int64[row].
    """
    for plan in range(numbers.shape[0]):
        start = starts[plan]
        for stage in range(rows.shape[0]):
            tags[start + stage], owners[start + stage] = row_tags[stage], codes.NONE
            for column in range(codes.ROW_WIDTH):
                op[start + stage, column] = rows[stage, column]
        for k in range(placeholders.shape[0]):
            op[start + placeholders[k, 0], placeholders[k, 1]] = numbers[plan, placeholders[k, 2]]
        for k in range(stripes.shape[0]):
            offset = stripes[k, 2]
            place = numbers[plan, offset] + stripes[k, 1]
            op[start + stripes[k, 0], 3] = place // burst_bytes % numbers[plan, offset + 1]


@jit
def give_rows(words: np.ndarray, number: int, first: int, end: int) -> bool:
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
