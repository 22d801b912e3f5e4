"""Values of parameters that have a default: a value is of the default's type, or a text that reads as it."""

from __future__ import annotations

from kernbench.characters import check_characters
from kernbench.errors import InputError

Scalar = bool | int | float | str


def read_parameter(name: str, default: Scalar, value: object) -> Scalar:
    """A value as the type of a default. Errors: InputError with the name for what is not of that type."""
    try:
        return _read_as(type(default), value, name)
    except (ValueError, TypeError, KeyError):
        raise InputError(f"{name} is {type(default).__name__}, as its default {default!r}; got {value!r}") from None


def _read_as(kind: type[Scalar], value: object, name: str) -> Scalar:
    if kind is bool and isinstance(value, str):
        return {"true": True, "false": False}[value.lower()]
    if kind is int and isinstance(value, str):
        return int(value, 0)
    if kind is int and (isinstance(value, bool) or value != int(value)):  # pyright: ignore[reportArgumentType]
        raise ValueError
    if isinstance(value, str):
        check_characters(value, f"{name}: the value")
    return kind(value)  # pyright: ignore[reportArgumentType]
