"""Values of parameters that have a default: a value is of the default's type, or a text that reads as it, also with a unit."""

from __future__ import annotations

from kernbench.characters import check_characters
from kernbench.errors import InputError
from kernbench.units import parse, parse_count

Scalar = bool | int | float | str


def read_parameter(name: str, default: Scalar, value: object, unit: str = "") -> Scalar:
    """A value as the type of a default; a text may carry a unit, "16KiB" where `unit` is "B" (see `units.unit_of`).

    Errors: InputError with the name for what is not of that type, or for a unit that does not fit.
    """
    try:
        return _read_as(type(default), value, name, unit)
    except (ValueError, TypeError, KeyError) as error:
        problem = str(error) if _begins_as_number(default, value) else f"got {value!r}"
        raise InputError(f"{name} is {type(default).__name__}, as its default {default!r}; {problem}") from None


def _begins_as_number(default: Scalar, value: object) -> bool:
    """Whether a text begins as a number does, where a number is asked for: the error is about the rest of it."""
    return isinstance(value, str) and not isinstance(default, bool | str) and value.lstrip(" +-.")[:1].isdigit()


def _read_as(kind: type[Scalar], value: object, name: str, unit: str) -> Scalar:
    if kind is bool and isinstance(value, str):
        return {"true": True, "false": False}[value.lower()]
    if kind in (int, float) and isinstance(value, str):
        return _read_number(kind, value, unit)
    if kind is int and (isinstance(value, bool) or value != int(value)):  # pyright: ignore[reportArgumentType]
        raise ValueError
    if isinstance(value, str):
        check_characters(value, f"{name}: the value")
    return kind(value)  # pyright: ignore[reportArgumentType]


def _read_number(kind: type[Scalar], text: str, unit: str) -> Scalar:
    try:
        return int(text, 0) if kind is int else float(text)
    except ValueError:
        return parse_count(text, unit) if kind is int else parse(text, unit)
