"""Totals of rows, counted by hand."""

from __future__ import annotations

import numpy as np

from kernels_jit.layout import codes
from kernels_jit.measure.row_totals import add_totals


def test_jobs_are_counted_by_duration_and_bytes_by_tag() -> None:
    rows = [(codes.EXEC, 9, 2), (codes.MOVE, 9, 100), (codes.EXEC, 9, 2), (codes.MOVE, 9, 30), (codes.DELAY, 1, 1)]
    op = np.array([[*row, 0, 0, 0, 0, 0] for row in rows], np.int64)
    tags, jobs, moved_bytes = np.array([0, 1, 0, 1, 2], np.int32), np.array([0, 1, 2], np.int64), np.zeros(3, np.int64)
    add_totals(op, tags, np.ones(5, np.int64), jobs, moved_bytes)
    assert jobs.tolist() == [0, 1, 4]
    assert moved_bytes.tolist() == [0, 130, 0]
    add_totals(op, tags, np.array([2, 3, 0, 0, 1]), jobs, moved_bytes)
    assert jobs.tolist() == [0, 1, 6]
    assert moved_bytes.tolist() == [0, 430, 0]
