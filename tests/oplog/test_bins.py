"""Amounts spread over bins."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kernbench.oplog.bins import BINS, Bins, fit

NS = 1_000_000
SPANS = st.lists(st.tuples(st.integers(0, 40 * NS), st.integers(0, 30 * NS), st.integers(0, 1)), min_size=1, max_size=8)


def _overlap(bins: Bins, start: int, end: int) -> np.ndarray:
    """float64[bin] the share of a time in each bin, one by one."""
    found = np.zeros(len(bins.start_fs))
    for at, (first, length) in enumerate(zip(bins.start_fs.tolist(), bins.length_fs.tolist(), strict=True)):
        if start == end:
            found[at] = first <= start < first + length
        else:
            found[at] = max(0, min(end, first + length) - max(start, first)) / (end - start)
    return found


@given(SPANS, st.integers(0, 30 * NS), st.integers(1, 50 * NS))
def test_amounts_are_spread_evenly(spans: list[tuple[int, int, int]], first: int, length: int) -> None:
    bins = Bins.over(first, first + length)
    assert bins.end_fs == first + length
    counted = csr_array(np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 1.0]]))
    start, took, column = np.array(spans, np.int64).T
    amount = np.arange(1.0, len(spans) + 1)
    found = bins.spread(start, start + took, amount, column, counted)
    expected = np.zeros_like(found)
    for at, (begin, taken, of) in enumerate(spans):
        expected += np.outer(_overlap(bins, begin, begin + taken), amount[at] * counted.toarray()[of])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_long_runs_have_few_windows_of_whole_nanoseconds() -> None:
    bins = Bins.over(0, 10**15 + 7)
    assert len(bins.start_fs) <= BINS
    assert not (bins.start_fs % NS).any()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_use_beyond_the_room_goes_elsewhere_and_none_is_lost(used: list[int]) -> None:
    room = np.full((len(used), 1), float(max(np.mean(used), 1.0)))
    found = fit(np.array(used, float)[:, None], room)
    np.testing.assert_allclose(found.sum(), sum(used))
    assert (found <= room + 1e-9).all()
