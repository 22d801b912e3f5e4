"""Amounts spread over windows."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from kernbench.trace.windows import WINDOWS, Windows, fit

NS = 1_000_000
SPANS = st.lists(st.tuples(st.integers(0, 40 * NS), st.integers(0, 30 * NS), st.integers(0, 1)), min_size=1, max_size=8)


def _overlap(windows: Windows, start: int, end: int) -> np.ndarray:
    """float64[window] the share of a time in each window, one by one."""
    found = np.zeros(len(windows.start_fs))
    for at, (first, length) in enumerate(zip(windows.start_fs.tolist(), windows.length_fs.tolist(), strict=True)):
        if start == end:
            found[at] = first <= start < first + length
        else:
            found[at] = max(0, min(end, first + length) - max(start, first)) / (end - start)
    return found


@given(SPANS, st.integers(0, 30 * NS), st.integers(1, 50 * NS))
def test_amounts_are_spread_evenly(spans: list[tuple[int, int, int]], first: int, length: int) -> None:
    windows = Windows.over(first, first + length)
    assert windows.end_fs == first + length
    counted = csr_array(np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 1.0]]))
    start, took, column = np.array(spans, np.int64).T
    amount = np.arange(1.0, len(spans) + 1)
    found = windows.spread(start, start + took, amount, column, counted)
    expected = np.zeros_like(found)
    for at, (begin, taken, of) in enumerate(spans):
        expected += np.outer(_overlap(windows, begin, begin + taken), amount[at] * counted.toarray()[of])
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_long_runs_have_few_windows_of_whole_nanoseconds() -> None:
    windows = Windows.over(0, 10**15 + 7)
    assert len(windows.start_fs) <= WINDOWS
    assert not (windows.start_fs % NS).any()


@given(st.lists(st.integers(0, 30), min_size=1, max_size=12))
def test_use_beyond_the_room_goes_elsewhere_and_none_is_lost(used: list[int]) -> None:
    room = np.full((len(used), 1), float(max(np.mean(used), 1.0)))
    found = fit(np.array(used, float)[:, None], room)
    np.testing.assert_allclose(found.sum(), sum(used))
    assert (found <= room + 1e-9).all()
