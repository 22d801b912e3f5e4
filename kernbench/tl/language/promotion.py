"""Type promotion: the element type of a result whose operands differ in type."""

from __future__ import annotations

from functools import cache

import numpy as np

from kernbench.dtypes import bits, canonical, is_float


@cache
def promote(a: str, b: str) -> str:
    """The narrowest type that suits both: floats before integers, wide before narrow; two types of one size give the next size.

    f16 with bf16 gives f32, the two fp8 give f16, a signed with an unsigned integer of its size the next signed one
    (at most i32, which wraps). Errors: InputError for an unknown dtype.
    """
    a, b = canonical(a), canonical(b)
    if is_float(a) != is_float(b):
        return a if is_float(a) else b
    if a == b or bits(a) > bits(b):
        return a
    if bits(a) < bits(b):
        return b
    return {8: "f16", 16: "f32"}[bits(a)] if is_float(a) else f"i{min(32, 2 * bits(a))}"


def scalar_dtype(value: float, dtype: str) -> str:
    """The type of a Python number beside a tensor: the tensor's, or f32 for a fraction beside integers."""
    return "f32" if isinstance(value, (float, np.floating)) and not is_float(dtype) else dtype
