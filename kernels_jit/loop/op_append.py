"""Append rows to a program: to its op table, and while it runs to the thread that goes on with them.

Compiled for the same reason as `op_rows`; and because plans of a large GEMM have millions of rows, which are written once.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.compile.pointers import pointer_to
from kernels_jit.layout import codes
from kernels_jit.layout.access import state_at, thread_at
from kernels_jit.loop.event_heap import schedule


@jit
def put_rows(
    written: np.ndarray,
    owner: int,
    entry: int,
    first: int,
    op: np.ndarray,
    tags: np.ndarray,
    owners: np.ndarray,
    entries: np.ndarray,
) -> None:
    """Take rows apart as they were written, int64[row * (1 + ROW_WIDTH)], each with its tag before it.

    They go into the columns of an op table, int64[entry, ROW_WIDTH], int32[entry], int64[entry] and int32[row], from an entry
    and from a row on.
    """
    word = 0
    for row in range(first, first + len(written) // (1 + codes.ROW_WIDTH)):
        tags[entry], owners[entry], entries[row] = written[word], owner, entry
        for column in range(codes.ROW_WIDTH):
            word += 1
            op[entry, column] = written[word]
        word += 1
        entry += 1


@jit
def fill_plans(
    rows: np.ndarray,
    row_tags: np.ndarray,
    offset: np.ndarray,
    kind: np.ndarray,
    place_bytes: np.ndarray,
    burst_bytes: int,
    numbers: np.ndarray,
    starts: np.ndarray,
    known: np.ndarray,
    entry: int,
    op: np.ndarray,
    tags: np.ndarray,
    owners: np.ndarray,
    entries: np.ndarray,
) -> int:
    """Write the rows of plans that differ in numbers, each from its own row of the op table on. Returns the end of its entries.

    Arguments: the fields of `kernbench.program.plan_template.PlanTemplate` but the tokens; of each plan int64[plan, number] and
    int64[plan]; int64[kind, channel] to work in, for the plan's entry of a kind of rows and a channel; the first entry to
    write, and the columns of the op table as of `put_rows`.
    """
    for plan in range(numbers.shape[0]):
        own, start = numbers[plan], starts[plan]
        known[:] = codes.NONE
        for stage in range(kind.shape[0]):
            k = kind[stage]
            channel = 0
            if offset[k] != codes.NONE:
                channel = (own[offset[k]] + place_bytes[stage]) // burst_bytes % own[offset[k] + 1]
            if known[k, channel] == codes.NONE:
                known[k, channel] = entry
                tags[entry], owners[entry] = row_tags[k], codes.NONE
                for column in range(codes.ROW_WIDTH):
                    value = rows[k, column]
                    op[entry, column] = own[codes.NONE - 1 - value] if value < codes.NONE else value
                if offset[k] != codes.NONE:
                    op[entry, 3] = channel
                entry += 1
            entries[start + stage] = known[k, channel]
    return entry


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
