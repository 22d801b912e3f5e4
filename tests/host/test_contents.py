"""What tensors are made with."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.host.contents import Filled, Given, Random


def test_random_numbers_depend_on_the_seed_alone() -> None:
    first = Random((4, 5), "f16", (0, 1)).make()
    assert first.dtype == np.float16
    assert (first == Random((4, 5), "f16", (0, 1)).make()).all()
    assert (first != Random((4, 5), "f16", (0, 2)).make()).any()


def test_random_integers_are_refused() -> None:
    with pytest.raises(InputError) as error:
        Random((4,), "i32", (0,))
    assert str(error.value) == "randn makes floating-point numbers, got dtype 'i32'; use from_numpy for integers"


def test_one_value_and_a_given_array() -> None:
    assert Filled((2,), "u8", 3).make().tolist() == [3, 3]
    array = np.arange(3)
    assert Given((3,), "i32", array).make() is array
