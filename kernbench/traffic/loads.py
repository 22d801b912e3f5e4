"""Parse the loads of a latency–load curve: one number, several with commas, or first:last:step."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation

from kernbench.errors import InputError

MOST_LOADS = 1_000


def parse_loads(text: str, name: str = "--load") -> list[float]:
    """The loads of a text like `0.05:0.6:0.05`; the last counts if a step lands on it. Errors: InputError with the name."""
    try:
        loads = _range(text, name) if ":" in text else [_number(part) for part in text.split(",")]
    except (ValueError, InvalidOperation):
        raise InputError(
            f"{name} {text!r} is none of 0.3, 0.1,0.2,0.3 and FIRST:LAST:STEP such as 0.05:0.6:0.05"
        ) from None
    for load in loads:
        if not 0 < load <= 1:
            raise InputError(
                f"{name} {text!r}: got {load}, expected more than 0 and at most 1, the whole bandwidth of an endpoint"
            )
    return [float(load) for load in loads]


def _range(text: str, name: str) -> list[Decimal]:
    first, last, step = (_number(part) for part in text.split(":"))
    if not (step > 0 and last >= first and (last - first) / step < MOST_LOADS):
        raise InputError(f"{name} {text!r} should rise from first to last, in {MOST_LOADS:,} steps at most")
    return [first + i * step for i in range(int((last - first) / step) + 1)]


def _number(text: str) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError
    return number
