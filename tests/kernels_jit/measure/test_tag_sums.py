"""Sums by tag, by hand."""

from __future__ import annotations

import numpy as np

from kernels_jit.measure.tag_sums import COLUMNS, add_by_tag


def test_sums_are_by_tag() -> None:
    sums = np.zeros((3, COLUMNS), np.int64)
    queued, took, alone = np.array([[5, 0, 7, 2], [10, 20, 30, 40], [10, 12, 35, 39]], np.int64)
    add_by_tag(np.array([2, 0, 2, 0], np.int32), queued, took, alone, sums)
    assert sums.tolist() == [[2, 2, 9, 60, 2], [0, 0, 0, 0, 0], [2, 12, 0, 40, 7]]
