"""Sums by tag, by hand."""

from __future__ import annotations

import numpy as np

from kernels_jit.measure.tag_sums import CARRY_SHIFT, COLUMNS, add_by_tag


def test_sums_are_by_tag() -> None:
    sums = np.zeros((3, COLUMNS), np.int64)
    queued, took, alone = np.array([[5, 0, 7, 2], [10, 20, 30, 40], [10, 12, 35, 39]], np.int64)
    add_by_tag(np.array([2, 0, 2, 0], np.int32), queued, took, alone, sums)
    assert sums.tolist() == [[2, 2, 2, 0, 9, 0, 60, 0], [0] * COLUMNS, [2, 7, 12, 0, 0, 0, 40, 0]]


def test_a_sum_may_need_more_than_64_bits() -> None:
    sums, fs = np.zeros((1, COLUMNS), np.int64), (1 << 62) - 1
    times = np.full(5, fs)
    add_by_tag(np.zeros(5, np.int32), times, times, np.zeros(5, np.int64), sums)
    count, longest_fs, *pairs = sums[0].tolist()
    assert (count, longest_fs) == (5, fs)
    assert [low + (carried << CARRY_SHIFT) for low, carried in zip(pairs[::2], pairs[1::2], strict=True)] == [
        5 * fs
    ] * 3
