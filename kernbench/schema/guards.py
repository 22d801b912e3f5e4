"""Type guards of values that users give: after a bare `isinstance` a type checker does not know the types of the elements."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, TypeGuard


def is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is a mapping."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether it is a list."""
    return isinstance(value, list)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is a whole number, of Python or of numpy, and no truth value."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number, of Python or of numpy, and no truth value."""
    return not isinstance(value, bool) and isinstance(value, Real)
