"""Views do what numpy does to arrays, without moving elements."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.workloads.graph.view import View, merge_axes, whole

MEMORY = np.arange(120)


def of(view: View) -> np.ndarray:
    return view.of(MEMORY)


X = whole("x", (2, 3, 4, 5))


def test_a_whole_value_lies_row_by_row_or_in_an_order_of_its_axes():
    assert X.strides == (60, 20, 5, 1)
    last = whole("x", (2, 3, 4, 5), (0, 2, 3, 1))
    assert last.strides == (60, 1, 15, 3)
    np.testing.assert_array_equal(of(last), MEMORY.reshape(2, 4, 5, 3).transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("view", "array"),
    [
        (X.transpose((3, 0, 2, 1)), lambda a: a.transpose(3, 0, 2, 1)),
        (X.slice(1, 1, 2), lambda a: a[:, 1:3]),
        (X.slice(3, 4, 3, -2), lambda a: a[..., 4::-2]),
        (X.slice(1, 0, 1).broadcast((2, 7, 4, 5)), lambda a: np.broadcast_to(a[:, :1], (2, 7, 4, 5))),
        (X.reshape((6, 20)), lambda a: a.reshape(6, 20)),
        (X.reshape((2, 1, 3, 2, 2, 5, 1)), lambda a: a.reshape(2, 1, 3, 2, 2, 5, 1)),
        (X.slice(3, 0, 4).reshape((6, 4, 2, 2)), lambda a: a[..., :4].reshape(6, 4, 2, 2)),
    ],
)
def test_views_have_the_elements_of_numpy(view, array):
    assert view is not None
    np.testing.assert_array_equal(of(view), array(MEMORY.reshape(2, 3, 4, 5)))


@pytest.mark.parametrize(
    ("view", "shape"), [(X.transpose((0, 2, 1, 3)), (2, 12, 5)), (X.slice(3, 0, 4), (480 // 5,)), (X, (7,))]
)
def test_a_reshape_that_strides_do_not_allow_is_none(view, shape):
    assert view.reshape(shape) is None


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"\[2, 3, 4, 5\] cannot be broadcast to \[2, 3, 4, 6\]"):
        X.broadcast((2, 3, 4, 6))


def test_axes_merge_where_all_views_allow_it():
    assert merge_axes([X], X.shape) == [(120, (1,))]
    turned = whole("y", (2, 3, 4, 5), (0, 2, 3, 1))
    assert merge_axes([X, turned], X.shape) == [(2, (60, 60)), (3, (20, 1)), (20, (1, 3))]
    assert merge_axes([X.slice(1, 0, 1)], (2, 1, 4, 5)) == [(2, (60,)), (20, (1,))]
