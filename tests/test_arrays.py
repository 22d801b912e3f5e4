"""Distinct rows, and ranges written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kernbench.arrays import count_rows, expand_ranges, unique_rows

SHAPES = st.tuples(st.integers(0, 12), st.integers(1, 3))


def test_ranges_one_after_the_other() -> None:
    numbers, of = expand_ranges(np.array([3, 7, 7, 0]), np.array([5, 7, 8, 2]))
    assert numbers.tolist() == [3, 4, 7, 0, 1]
    assert of.tolist() == [0, 0, 2, 3, 3]


@given(
    SHAPES.flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(-2, 3))),
    st.sampled_from([np.int8, np.int32, np.int64, np.float64]),
    st.sampled_from([1, 1 << 40]),  # which is too wide for one number
)
def test_distinct_rows(values: np.ndarray, kind: type, scale: int) -> None:
    rows = (values * (scale if kind in (np.int64, np.float64) else 1)).astype(kind)
    found = unique_rows(rows)
    for ours, theirs in zip(
        found, np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True), strict=True
    ):
        assert ours.tolist() == theirs.reshape(ours.shape).tolist()
    counted, count = count_rows(rows)
    assert counted.tolist() == found.rows.tolist()
    assert count.tolist() == found.count.tolist()
    assert counted.dtype == found.rows.dtype == rows.dtype
    assert (found.rows[found.which] == rows).all()


def test_a_column_may_hold_all_values_of_its_type() -> None:
    rows = np.array([[127, 0], [-128, 0], [127, 0]], np.int8)
    assert unique_rows(rows).which.tolist() == [1, 0, 1]


def test_rows_of_no_columns_are_equal() -> None:
    assert unique_rows(np.zeros((3, 0), np.int64)).count.tolist() == [3]


@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_distinct_rows_in_the_order_in_which_they_appear(kind: type) -> None:
    found = unique_rows(np.array([[2, 9], [0, 5], [2, 9], [1, 7], [0, 5]], kind)).by_appearance()
    assert found.rows.tolist() == [[2, 9], [0, 5], [1, 7]]
    assert found.first.tolist() == [0, 1, 3]
    assert found.which.tolist() == [0, 1, 0, 2, 1]
    assert found.count.tolist() == [2, 2, 1]
