"""What translated kernels call for arithmetic that Python has no operator for."""

from __future__ import annotations

import math
from collections.abc import Callable
from ctypes import c_float
from struct import Struct
from typing import Any, cast

import numpy as np


def divide(a: int, b: int) -> int:
    """Signed division, towards zero."""
    return -(-a // b) if (a < 0) != (b < 0) else a // b


def remainder(a: int, b: int) -> int:
    """The remainder of `divide`, with the sign of the dividend."""
    return a - b * divide(a, b)


def put(owner: list[Any], index: int, value: Any) -> Any:
    """Set an element; returns the value."""
    owner[index] = value
    return value


_FLOAT32, _UINT32 = Struct("f"), Struct("I")


def single(value: float) -> float:
    """The float32 nearest to a number."""
    return c_float(value).value


def half(value: float) -> float:
    """The float16 nearest to a number."""
    with np.errstate(over="ignore"):
        return float(np.float16(value))


def brain(value: float) -> float:
    """The bfloat16 of a number: a float32 whose lower half is cut off."""
    (bits,) = _UINT32.unpack(_FLOAT32.pack(single(value)))
    (found,) = _FLOAT32.unpack(_UINT32.pack(bits & 0xFFFF0000))
    return found


def quotient(a: float, b: float) -> float:
    """Division of floats; by zero it is infinite or not a number."""
    if b:
        return a / b
    return math.nan if not a or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1.0, b)


def duplicate(value: list[Any]) -> list[Any]:
    """A copy of a structure or array with all that is in it."""
    return [duplicate(cast("list[Any]", one)) if isinstance(one, list) else one for one in value]


HELPERS: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (divide, remainder, put, single, half, brain, quotient, duplicate)
}
