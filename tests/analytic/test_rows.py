"""Arrays of ranges and of kinds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernbench.analytic.rows import find_distinct, find_kinds, spread


def test_ranges_one_after_the_other():
    numbers, of = spread(np.array([3, 7, 7, 0]), np.array([5, 7, 8, 2]))
    assert numbers.tolist() == [3, 4, 7, 0, 1]
    assert of.tolist() == [0, 0, 2, 3, 3]


@pytest.mark.parametrize("scale", [1, 1 << 40])  # too wide for one number
def test_kinds(scale):
    rows = np.array([[2, -1], [0, 5], [2, -1], [2, 0]]) * scale
    kinds, kind, count = find_kinds(rows)
    assert kinds.tolist() == [[0, 5 * scale], [2 * scale, -scale], [2 * scale, 0]]
    assert kind.tolist() == [1, 0, 1, 2]
    assert count.tolist() == [1, 2, 1]


def test_no_kinds():
    kinds, kind, count = find_kinds(np.zeros((0, 2), np.int64))
    assert (kinds.shape, kind.shape, count.shape) == ((0, 2), (0,), (0,))


@given(
    st.tuples(st.integers(0, 12), st.integers(1, 3)).flatmap(
        lambda n: arrays(np.float64, n, elements=st.integers(0, 3))
    )
)
def test_distinct_rows(rows):
    expected = np.unique(rows, axis=0, return_index=True)
    for found, plain in zip(find_distinct(rows), expected, strict=True):
        assert found.tolist() == plain.tolist()
