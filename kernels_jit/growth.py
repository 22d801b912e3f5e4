"""How a program grows under the loop: rows go into the op table, and to the thread that goes on with them.

Compiled for the same reason as `operands`.
"""

from __future__ import annotations

from kernels_jit import codes
from kernels_jit._jit import inner
from kernels_jit.heap import schedule
from kernels_jit.state import NOW, RESUME, THREAD_COLUMNS, THREAD_CURSOR, THREAD_END, THREADS


@inner
def put_rows(written, owner, op, tags, owners, first):
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


@inner
def give_rows(m, number, first, end):
    """Give a thread rows to go on with: now, unless it is the one that goes on anyway. Answers whether it was at its end.

    There is room for an event. A thread that was not at its end is left as it is.
    """
    thread = m[THREADS] + number * THREAD_COLUMNS
    if m[thread + THREAD_CURSOR] < m[thread + THREAD_END]:
        return False
    m[thread + THREAD_CURSOR], m[thread + THREAD_END] = first, end
    if number != m[RESUME]:
        schedule(m, m[NOW], (codes.WAKE << codes.KIND_SHIFT) | number, 0, number)
    return True
