"""What tensors are made with."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.dtypes import numpy_dtype
from kernbench.host.memory.initial_values import Filled, Given, Random


def test_random_numbers_depend_on_the_seed_alone() -> None:
    first = Random((4, 5), "f16", (0, 1)).make()
    assert first.dtype == np.float16
    assert (first == Random((4, 5), "f16", (0, 1)).make()).all()
    assert (first != Random((4, 5), "f16", (0, 2)).make()).any()


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "u16", "i32", "u32"])
def test_random_integers_are_of_the_whole_range(dtype: str) -> None:
    drawn = Random((4096,), dtype, (0,)).make()
    assert drawn.dtype == numpy_dtype(dtype)
    assert (drawn == Random((4096,), dtype, (0,)).make()).all()
    ends = np.iinfo(drawn.dtype)
    near = (int(ends.max) - int(ends.min)) / 100
    assert drawn.min() <= ends.min + near
    assert drawn.max() >= ends.max - near


def test_one_value_and_a_given_array() -> None:
    assert Filled((2,), "u8", 3).make().tolist() == [3, 3]
    array = np.arange(3)
    assert Given((3,), "i32", array).make() is array
