"""Element types of Triton, and the types of results."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from kernbench.dtypes import numpy_dtype

_RANK = {"i": 0, "u": 0, "f": 1}
_NAMES = {
    "int1": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "int64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "uint64",
    "float8e4nv": "f8e4m3",
    "float8e5": "f8e5m2",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "float64",
}


class dtype:
    """An element type: its name in Triton, its type in numpy, its bits."""

    __slots__ = ("name", "numpy", "primitive_bitwidth")

    def __init__(self, name: str, numpy: np.dtype) -> None:
        self.name, self.numpy = name, numpy
        self.primitive_bitwidth = 1 if name == "int1" else numpy.itemsize * 8

    def is_floating(self) -> bool:
        """Whether its numbers have a fraction."""
        return self.name.startswith(("float", "bfloat"))

    def is_int(self) -> bool:
        """Whether its numbers are whole."""
        return not self.is_floating()

    @property
    def is_signed(self) -> bool:
        """Whether its numbers have a sign."""
        return not self.name.startswith("uint") and self.name != "int1"

    def __repr__(self) -> str:
        return self.name


class pointer_type:
    """The type of a pointer."""

    __slots__ = ("element_ty",)

    def __init__(self, element_ty: dtype) -> None:
        self.element_ty = element_ty


def _numpy(short: str) -> np.dtype:
    return np.dtype(short) if short in ("bool", "int64", "uint64", "float64") else numpy_dtype(short)


@cache
def named(name: str) -> dtype:
    """The type of a name of Triton."""
    return dtype(name, _numpy(_NAMES[name]))


NAMES = tuple(_NAMES)


def of_short(short: str) -> dtype:
    """The type of Triton for an element type of a device tensor."""
    return named(next(name for name, one in _NAMES.items() if one == short))


@cache
def promote(a: dtype, b: dtype) -> dtype:
    """The type in which blocks of two types meet."""
    if a is b:
        return a
    if a.is_floating() and b.is_floating():
        if a.primitive_bitwidth == b.primitive_bitwidth:  # f16 and bf16, or two of eight bits
            return named("float32" if a.primitive_bitwidth == 16 else "float16")
        return max(a, b, key=lambda one: one.primitive_bitwidth)
    if a.is_floating() or b.is_floating():
        return a if a.is_floating() else b
    if a.primitive_bitwidth == b.primitive_bitwidth:
        return a if not a.is_signed else b
    return max(a, b, key=lambda one: one.primitive_bitwidth)


def of_number(value: Any, beside: dtype | None) -> dtype:
    """The type of a Python number beside a block: that of the block, if it can have it."""
    if isinstance(value, (bool, np.bool_)):
        return named("int1") if beside is None else beside
    if isinstance(value, (int, np.integer)):
        if beside is not None and beside.name != "int1":
            return beside
        return named("int32" if -(1 << 31) <= value < 1 << 31 else "int64")
    if beside is not None and beside.is_floating():
        return beside
    return named("float32")
