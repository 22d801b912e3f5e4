"""Sums of rows by the server that they hold, against numpy."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernels_jit.layout import codes
from kernels_jit.layout.records import TIME
from kernels_jit.measure.held_servers import NO_SERVER, NOTHING, find_held_servers, sum_held

ROW = st.tuples(
    st.sampled_from([codes.EXEC, codes.MOVE, codes.WAIT, codes.PIPE]),
    st.integers(0, 3),
    st.integers(NO_SERVER, 3),
    st.booleans(),
    st.sampled_from([codes.NONE, 5, 9]),
)


@given(st.lists(ROW, max_size=20))
def test_sums_are_those_of_numpy(rows: list[tuple[int, int, int, bool, int]]) -> None:
    """EXEC holds its first operand, MOVE its fifth if any; rows that are not counted, and others, hold nothing."""
    op, times = np.zeros((len(rows), 8), np.int64), np.zeros(len(rows), TIME)
    expected_fs, missing = np.zeros(4, np.int64), 0
    for row, (code, operand, hold, counted, end_fs) in enumerate(rows):
        op[row, :6] = code, operand, row, 7, 0, hold
        times[row]["start_fs"], times[row]["end_fs"] = 2, end_fs
        if not counted or code not in (codes.EXEC, codes.MOVE):
            continue
        server = operand if code == codes.EXEC else hold
        missing += end_fs == codes.NONE
        if server != NO_SERVER and end_fs != codes.NONE:
            expected_fs[server] += end_fs - 2
    held, busy_fs = np.empty(len(rows), np.int32), np.zeros(4)
    counted = np.array([row[3] for row in rows], bool)
    find_held_servers(op, held)
    assert ((held == NOTHING) == ~np.isin(op[:, 0], (codes.EXEC, codes.MOVE))).all()
    assert sum_held(held, np.arange(len(rows), dtype=np.int32), counted, times, busy_fs) == missing
    assert busy_fs.tolist() == expected_fs.tolist()


def test_rows_that_share_an_entry_are_summed_each():
    times = np.array([(0, 1, 4), (0, 4, 9), (0, 9, 20)], TIME)
    held, busy_fs = np.array([NOTHING, 2], np.int32), np.zeros(3)
    assert sum_held(held, np.array([1, 1, 0], np.int32), np.ones(3, bool), times, busy_fs) == 0
    assert busy_fs.tolist() == [0, 0, 8]
