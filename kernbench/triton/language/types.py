"""Element types of Triton, and the types of results."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from kernbench.dtypes import numpy_dtype
from kernbench.tl.language.errors import fail

_NAMES = {
    "int1": "bool",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float8e4nv": "f8e4m3",
    "float8e5": "f8e5m2",
    "float16": "f16",
    "bfloat16": "bf16",
    "float32": "f32",
    "float64": "f64",
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

    def is_fp16(self) -> bool:
        """Whether it is f16."""
        return self.name == "float16"

    def is_bf16(self) -> bool:
        """Whether it is bf16."""
        return self.name == "bfloat16"

    def is_fp32(self) -> bool:
        """Whether it is f32."""
        return self.name == "float32"

    def is_fp64(self) -> bool:
        """Whether it has 64 bits with a fraction."""
        return self.name == "float64"

    def is_fp8(self) -> bool:
        """Whether it has eight bits with a fraction."""
        return self.name.startswith("float8")

    def is_int8(self) -> bool:
        """Whether it is i8."""
        return self.name == "int8"

    def is_int64(self) -> bool:
        """Whether it is i64."""
        return self.name == "int64"

    def is_ptr(self) -> bool:
        """Whether it is that of pointers."""
        return False

    @property
    def scalar(self) -> dtype:
        """Itself."""
        return self

    @property
    def value(self) -> dtype:
        """Itself: the value of a constant."""
        return self

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return self.numpy.itemsize

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__


class pointer_type:
    """The type of a pointer."""

    __slots__ = ("element_ty",)

    def __init__(self, element_ty: dtype, address_space: int = 1) -> None:  # noqa: ARG002 - one memory here
        self.element_ty = element_ty

    def is_ptr(self) -> bool:
        """Whether it is that of pointers."""
        return True

    @property
    def scalar(self) -> pointer_type:
        """Itself."""
        return self


@cache
def named(name: str) -> dtype:
    """The type of a name of Triton."""
    return dtype(name, numpy_dtype(_NAMES[name]))


NAMES = tuple(_NAMES)


def shorts() -> tuple[str, ...]:
    """The element types of device tensors that Triton has, by their short names."""
    return tuple(_NAMES.values())


def of_short(short: str) -> dtype:
    """The type of Triton for an element type of a device tensor."""
    return named(next(name for name, one in _NAMES.items() if one == short))


@cache
def promote(a: dtype, b: dtype, division: bool = False) -> dtype:
    """The type in which blocks of two types meet; `division` is / or %, which halves do in f32. Errors: KernelError."""
    for name in ("float64", "float32"):
        if name in (a.name, b.name):
            return named(name)
    if "float16" in (a.name, b.name):
        return named("float32" if division else "float16")
    if "bfloat16" in (a.name, b.name):
        return named("float32" if division or a is not b else "bfloat16")
    if a.is_floating() or b.is_floating():
        if a.is_floating() and b.is_floating():
            return a if a is b else named("float16")
        fail(f"blocks of {a} and {b} meet, which have no common type", "convert one of them with .to")
    if division and a.is_signed != b.is_signed and "int1" not in (a.name, b.name):
        fail(f"blocks of {a} and {b} are divided, of which one has signs", "convert one of them with .to")
    if a.primitive_bitwidth == b.primitive_bitwidth:
        return a if not a.is_signed else b
    return max(a, b, key=lambda one: one.primitive_bitwidth)


def kind_of(one: dtype) -> int:
    """The rank of a kind of numbers: truth values, whole numbers, floats."""
    return 0 if one.name == "int1" else 2 if one.is_floating() else 1


def of_scalar(value: Any) -> dtype:
    """The type of a Python number by itself."""
    if isinstance(value, (bool, np.bool_)):
        return named("int1")
    if isinstance(value, (int, np.integer)):
        for name in ("int32", "uint32", "int64", "uint64"):
            limits = np.iinfo(named(name).numpy)
            if limits.min <= value <= limits.max:
                return named(name)
        fail(f"the number {value} has more than 64 bits", "give a smaller one")
    finite = np.isfinite(value) and value != 0
    return named("float32" if not finite or 2.0**-126 <= abs(value) <= float(np.finfo(np.float32).max) else "float64")


def of_number(value: Any, beside: dtype | None) -> dtype:
    """The type of a Python number beside a block: that of the block, unless the number's kind is of a higher rank."""
    alone = of_scalar(value)
    return beside if beside is not None and kind_of(alone) <= kind_of(beside) else alone
