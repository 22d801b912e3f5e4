"""Results against references."""

from __future__ import annotations

import numpy as np
import pytest

from kernbench.errors import InputError
from kernbench.replay.compare import find_mismatch


def test_a_mismatch_names_tensor_index_and_both_values() -> None:
    expected = np.arange(6.0).reshape(2, 3)
    got = expected.astype(np.float16)
    got[1, 2] = 6
    assert find_mismatch("c", "f16", got, expected) == (
        "tensor 'c' at [1, 2]: expected 5, got 6; tolerance 0.002 x max(1, |expected|); 1 of 6 elements differ by at most "
        "256 units of f16, more than rounding explains"
    )


@pytest.mark.parametrize(
    ("dtype", "expected", "got", "size"),
    [
        ("f16", 1.0, 1.0 + 8 * 2.0**-10, " by at most 8 units of f16, rounding may explain it"),
        ("f16", 1.0, 1.0 + 9 * 2.0**-10, " by at most 9 units of f16, more than rounding explains"),
        ("f16", 4.0, 4.0 + 9 * 2.0**-10, " by at most 2.25 units of f16, rounding may explain it"),
        ("f32", 1.0, 1.0 + 2.0**-12, " by at most 2.05e+03 units of f32, more than rounding explains"),
        ("bf16", 1.0, 1.0 + 2.0**-5, " by at most 4 units of bf16, rounding may explain it"),
        ("fp8", 2.0, 4.0, " by at most 8 units of f8e4m3, rounding may explain it"),
        ("i32", 3, 4, " by at most 1 unit of i32, rounding may explain it"),
        ("i32", 3, 5, " by at most 2 units of i32, more than rounding explains"),
        ("f16", 3, np.inf, ", some by inf or nan"),
    ],
)
def test_a_mismatch_tells_how_large_it_is(dtype: str, expected: float, got: float, size: str) -> None:
    found = find_mismatch("c", dtype, np.array([got, 0.0]), np.array([expected, 0.0]), 1e-6)
    assert found is not None
    assert found.endswith(f"; 1 of 2 elements differ{size}")


def test_the_edge_of_the_tolerance() -> None:
    assert find_mismatch("c", "f32", np.array([1.5]), np.array([1.0]), 0.5) is None
    assert find_mismatch("c", "f32", np.array([1.5001]), np.array([1.0]), 0.5) is not None


def test_integers_must_be_equal() -> None:
    assert find_mismatch("c", "i32", np.array([3]), np.array([3])) is None
    assert find_mismatch("c", "i32", np.array([3]), np.array([4])) is not None


def test_nan_and_inf_equal_themselves() -> None:
    special = np.array([np.nan, np.inf, -np.inf])
    assert find_mismatch("c", "f16", special, special) is None
    assert find_mismatch("c", "f16", special, -special) is not None


def test_a_reference_of_another_shape() -> None:
    with pytest.raises(InputError) as error:
        find_mismatch("c", "f16", np.zeros((2, 2)), np.zeros(4))
    assert str(error.value) == (
        "the reference of tensor 'c' has shape (4,), the tensor has (2, 2); give a reference of the tensor's shape"
    )
