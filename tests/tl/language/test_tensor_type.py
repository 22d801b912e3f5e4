"""Tensor types are one object for each shape and dtype."""

import numpy as np
import pytest

from kernbench.errors import KernelError
from kernbench.tl.language.tensor_type import as_type, type_of


def test_a_kind_is_one_object():
    assert type_of((2, 3), "f16") is type_of((2, 3), "f16")
    assert type_of((2, 3), "f16") is not type_of((2, 3), "bf16")
    assert type_of((2, 3), "f32").nbytes == 24
    assert type_of((), "f32").nbytes == 0


def test_a_kernel_may_write_a_shape_in_many_ways():
    assert {as_type("load", shape, "u8") for shape in ((4,), 4, [4], np.int64(4), (np.int64(4),))} == {
        type_of((4,), "u8")
    }


def test_what_is_no_kind_is_refused_each_time():
    for _ in range(2):
        with pytest.raises(KernelError, match=r"^tl.load got the shape \(4, 0\)"):
            as_type("load", (4, 0), "f16")
        with pytest.raises(KernelError, match=r"^tl.load got the dtype 'f61'"):
            as_type("load", (4, 1), "f61")


def test_what_equals_a_shape_is_none():
    assert as_type("load", (2, 3), "f16").shape == (2, 3)
    for shape in ((2.0, 3), [2.0, 3], 2.0):
        with pytest.raises(KernelError, match=r"^tl.load got the shape \(2\.0,( 3)?\), .*; give an int or a tuple"):
            as_type("load", shape, "f16")
