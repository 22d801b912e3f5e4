"""The rows of an endpoint that issues its transfers under limits: a least time between two starts, and a most in flight.

Transfers begin in the order of their starts, none before its own. A pause after each keeps the time to the next. A counter
counts completions: of at most *n* in flight, transfer *i* waits until *i* + 1 − *n* are complete.
"""

from __future__ import annotations

import numpy as np

from kernbench.program.ops import GE, ROW_WIDTH, Op

_PAUSE, _START, _TURN, _MOVE = range(4)  # what may stand before a transfer, and the transfer


def limit_issue(
    moves: np.ndarray, start_fs: np.ndarray, pause: int | None, outstanding: int | None, done: int
) -> tuple[np.ndarray, np.ndarray]:
    """int64[row, ROW_WIDTH] the rows of a thread, and int64[transfer] the row of each transfer among them.

    Arguments: int64[transfer, ROW_WIDTH] rows of MOVE, int64[transfer] starts, ascending, the number of the duration between
    two starts, the most in flight (None: no such limit), and the counter of completions, which the transfers add to, or NONE.
    """
    count = len(moves)
    rows, kept = np.zeros((count, 4, ROW_WIDTH), np.int64), np.zeros((count, 4), bool)
    rows[:, _MOVE], kept[:, _MOVE] = moves, True
    rows[:, _START, 0], rows[:, _START, 1] = Op.UNTIL, start_fs
    kept[:, _START] = np.diff(start_fs, prepend=0) > 0
    if pause is not None:
        rows[:, _PAUSE, 0], rows[:, _PAUSE, 1] = Op.DELAY, pause
        kept[1:, _PAUSE] = True
    rows[:, _MOVE, 4] = done
    if outstanding is not None:
        complete = np.arange(count) + 1 - outstanding
        rows[:, _TURN, 0], rows[:, _TURN, 1], rows[:, _TURN, 2], rows[:, _TURN, 3] = Op.WAIT, done, GE, complete
        kept[:, _TURN] = complete > 0
    return rows[kept], np.cumsum(kept.sum(axis=1)) - 1
