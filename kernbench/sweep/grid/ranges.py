"""Ranges of values as one text, the same in grid files (`{range: 16:128:x2}`) and after `--set`.

`16:64:16` goes in steps, `16:128:x2` multiplies, `0.5:2:lin4` is four values equally far apart, and `8:64:log4` four values
each the same multiple of the one before. Ends and steps may have units: `4KiB:64KiB:x2`. Then the values are texts in the unit
of the first end, which are read later in the unit of the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

from kernbench.schema.yaml import scalar
from kernbench.sweep.grid.axis import Number, Value, linspace, logspace, multiplied, stepped
from kernbench.units import convert, split

FORMS = "FIRST:LAST:STEP, FIRST:LAST:xFACTOR, FIRST:LAST:linCOUNT or FIRST:LAST:logCOUNT"
_STEP = re.compile(r"(x|lin|log)\s*(\S+)")
_TURNED = re.compile(r"[\d.]+\s*(x|lin|log)")  # 2x instead of x2
_COUNTED: dict[str, Callable[[Number, Number, int], tuple[Number, ...]]] = {"lin": linspace, "log": logspace}


def is_range(text: str) -> bool:
    """Whether a text has the shape of a range: two numbers, and what leads from the one to the other."""
    parts = text.split(":")
    return "," not in text and len(parts) == 3 and all(_is_quantity(part) for part in parts[:2])


def expand_range(text: str) -> tuple[Value, ...]:
    """The values of a range. Errors: ValueError for another text, for units that differ in kind, or for no values."""
    if not is_range(text):
        raise ValueError(f"got {text!r}, expected {FORMS}")
    first, last, step = (part.strip() for part in text.split(":"))
    return spread(first, last, step)


def spread(first: Number | str, last: Number | str, step: Number | str) -> tuple[Value, ...]:
    """The values from `first` to `last`; `step` is a step, or a text such as "x2", "lin4" and "log4". Errors: ValueError."""
    matched = _STEP.fullmatch(step.strip()) if isinstance(step, str) else None
    if isinstance(step, str) and _TURNED.fullmatch(step.strip()):
        raise ValueError(f"got {first}:{last}:{step}, expected {FORMS}")
    unit = _common_unit(first, last, *([] if matched else [step]))
    low, high = _read(first, unit), _read(last, unit)
    if matched is None:
        values = stepped(low, high, _read(step, unit))
    elif matched[1] == "x":
        values = multiplied(low, high, _number(matched[2], text=step))
    else:
        values = _COUNTED[matched[1]](low, high, _count(matched[2], text=step))
    return tuple(f"{value}{unit}" for value in values) if unit else values


def _is_quantity(text: str) -> bool:
    try:
        split(text)
    except ValueError:
        return False
    return True


def _common_unit(*quantities: Number | str) -> str:
    """The unit of the first; "" if none has one. Errors: ValueError if only some have one."""
    units = [split(one)[1] if isinstance(one, str) else "" for one in quantities]
    if any(units) and not all(units):
        shown = ":".join(map(str, quantities))
        raise ValueError(f"got {shown}, where some numbers have a unit and some have none; give each its unit")
    return units[0]


def _read(quantity: Number | str, unit: str) -> Number:
    if not isinstance(quantity, str):
        return quantity
    if not unit:
        return _number(quantity, text=quantity)
    exact: Fraction = convert(quantity, unit)
    return int(exact) if exact.denominator == 1 else float(exact)


def _number(written: str, *, text: object) -> Number:
    found = scalar(written.strip())
    if isinstance(found, int | float) and not isinstance(found, bool):
        return found
    raise ValueError(f"got {text!r}, expected {FORMS}")


def _count(written: str, *, text: object) -> int:
    found = _number(written, text=text)
    if not isinstance(found, int):
        raise ValueError(f"got {text!r}, expected a whole number of values")
    return found
