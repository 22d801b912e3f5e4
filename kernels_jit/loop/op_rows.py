"""Checks of new entries of an op table: whether operands are in range, and which routes they use.

Compiled, because a live kernel brings a few rows at a time, a million times, and a dozen numpy calls for each would cost
more than running them.
"""

from __future__ import annotations

import numpy as np

from kernels_jit.compile.jit import jit
from kernels_jit.layout import codes


@jit
def find_illegal(op: np.ndarray, first: int, legal: np.ndarray) -> tuple[int, int]:
    """The first wrong cell from an entry on, as (entry, column), or (NONE, NONE); column 0 is an unknown opcode.

    Arguments: int64[entry, ROW_WIDTH], int, int64[opcode, ROW_WIDTH, 2] least value and end of the range of each operand.
    """
    for entry in range(first, len(op)):
        kind = op[entry, 0]
        if kind < 0 or kind >= len(legal):
            return entry, 0
        for column in range(1, op.shape[1]):
            if not legal[kind, column, 0] <= op[entry, column] < legal[kind, column, 1]:
                return entry, column
    return codes.NONE, codes.NONE


@jit
def note_entries(
    op: np.ndarray, first: int, flit_bytes: int, least: np.ndarray, laid: int, branches: np.ndarray
) -> tuple[bool, bool]:
    """Take the MOVEs from an entry on into `least`, int64[route] the smallest flit that takes each route.

    `branches`: int64[route] how many routes from this one on a MOVE takes. Returns whether the network must be laid anew, for a
    route not among the first `laid` or a smaller flit than any, and whether one of the entries asks for more.
    """
    changed, asks = False, False
    for entry in range(first, len(op)):
        kind = op[entry, 0]
        asks |= kind == codes.ASK
        if kind == codes.MOVE:
            route, nbytes = op[entry, 1], op[entry, 2]
            changed |= route >= laid
            if nbytes > 0:
                last = (nbytes - 1) % flit_bytes + 1
                changed |= last < least[route]
                for branch in range(route, route + branches[route]):
                    least[branch] = min(least[branch], last)
    return changed, asks


LATER_BRANCH, COUNTED_ABOVE, FEW_ARRIVALS, NO_TRANSFER = 1, 2, 3, 4  # what is wrong with a row of a transfer to many


@jit
def find_wrong_arrival(
    op: np.ndarray,
    entry: np.ndarray,
    thread: np.ndarray,
    thread_entry: np.ndarray,
    first: int,
    branches: np.ndarray,
    destinations: np.ndarray,
) -> tuple[int, int]:
    """The first row from `first` on that breaks a rule of transfers to many, as (row, what is wrong), or (NONE, NONE).

    Arguments: int64[entry, ROW_WIDTH] and int32[row] op table, int64[entry] and int32[row] threads, int, int64[route] twice
    (see `machine_tables.Routes`). In a thread, a MOVE to n destinations is followed by n rows ARRIVE; a stage of a plan is not.
    """
    due = 0  # arrivals that must follow
    for row in range(first, len(entry)):
        code, own = op[entry[row], 0], thread[thread_entry[row]]
        if due > 0 and (code != codes.ARRIVE or own != thread[thread_entry[row - 1]]):
            return row, FEW_ARRIVALS
        if code == codes.ARRIVE:
            if due == 0:
                return row, NO_TRANSFER
            due -= 1
        if code == codes.MOVE:
            route = op[entry[row], 1]
            if branches[route] == 0:
                return row, LATER_BRANCH
            if destinations[route] > 0:
                if op[entry[row], 6] != codes.NONE:
                    return row, COUNTED_ABOVE
                due = destinations[route] if own != codes.NONE else 0
    return (len(entry), FEW_ARRIVALS) if due > 0 else (codes.NONE, codes.NONE)


NO_TOKENS, NO_STAGES, NO_STAGE, COUNTS, APART = 1, 2, 3, 4, 5  # what is wrong with a plan


@jit
def find_wrong_plan(
    op: np.ndarray,
    entry: np.ndarray,
    plan_start: np.ndarray,
    token_start: np.ndarray,
    token_end: np.ndarray,
    first: int,
) -> tuple[int, int]:
    """The first wrong plan from plan `first` on, as (plan, what is wrong with it), or (NONE, NONE).

    Arguments: int64[entry, ROW_WIDTH], int32[row], int64[plan + 1] into the tokens, int64[token] first and end rows, int.
    """
    for plan in range(first, len(plan_start) - 1):
        tokens, end = plan_start[plan], plan_start[plan + 1]
        if tokens == end:
            return plan, NO_TOKENS
        server = codes.NONE
        for token in range(tokens, end):
            begin = token_start[token]
            if token_end[token] <= begin:
                return plan, NO_STAGES
            for row in range(begin, token_end[token]):
                code = op[entry[row], 0]
                if code != codes.EXEC and code != codes.MOVE:
                    return plan, NO_STAGE
                counters = op[entry[row], 3] if code == codes.EXEC else max(op[entry[row], 4], op[entry[row], 6])
                if counters != codes.NONE:
                    return plan, COUNTS
            own = op[entry[begin], 1] if op[entry[begin], 0] == codes.EXEC else op[entry[begin], 5]
            if token == tokens:
                server = own
            if own == codes.NONE or own != server:
                return plan, APART
    return codes.NONE, codes.NONE
