"""What translated kernels call for arithmetic that Python has no operator for."""

from __future__ import annotations

from typing import Any


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
