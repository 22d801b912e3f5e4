"""Tensor types: a shape and a dtype, one object for each pair.

A kernel makes a million tensors of a few types. The properties of a type (bytes, the work of an operation, the type of its
result) are computed once and looked up by identity, which is much cheaper than hashing shapes and names.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from math import prod

import numpy as np

from kernbench.dtypes import ALIASES, BITS, bits, canonical, is_float, itemsize
from kernbench.errors import suggest
from kernbench.program.op_semantics import Shape
from kernbench.tl.language.errors import fail
from kernbench.tl.language.shapes import as_shape


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


class TensorType:
    """A shape and a dtype; use `type_of` or `as_type` to get one. `nbytes` is 0 for a number, which takes no memory."""

    __slots__ = ("dtype", "nbytes", "shape")

    def __init__(self, shape: Shape, dtype: str) -> None:
        self.shape = shape
        self.dtype = dtype
        self.nbytes = prod(shape) * itemsize(dtype) if shape else 0


@cache
def type_of(shape: Shape, dtype: str) -> TensorType:
    """The type of a shape and a dtype. Errors: InputError for an unknown dtype."""
    return TensorType(shape, dtype)


def as_type(primitive: str, shape: int | Sequence[int], dtype: str) -> TensorType:
    """The type that a kernel gives. Errors: KernelError for an invalid shape or dtype."""
    if type(shape) is not tuple:
        shape = (shape,) if type(shape) is int else as_shape(primitive, shape)
    return _as_type(primitive, dtype, *shape)  # pyright: ignore[reportUnknownArgumentType]


@lru_cache(None, typed=True)  # as `shapes._check_shape`
def _as_type(primitive: str, dtype: str, *shape: int) -> TensorType:
    return type_of(as_shape(primitive, shape), as_dtype(primitive, dtype))


def as_dtype(primitive: str, dtype: str) -> str:
    """The dtype that a kernel names. Errors: KernelError for an unknown one, listing the known ones."""
    if dtype not in BITS and dtype not in ALIASES:
        fail(f"tl.{primitive} got the dtype {dtype!r}", suggest(str(dtype), BITS)[2:])
    return dtype
