"""Engineering units: how the values of a column are shown in a figure, as `1.23 ms`, `64 KiB` or `9.6 GB/s`.

The unit of a column is a word of its name. Values that are near each other have one unit, which is in the title of
their axis; values over many decades have one each. Sizes always tell theirs, unless all have the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, isfinite, log10

from kernbench.sweep.point import TOPOLOGY
from kernbench.sweep.results.swept_axes import UNITS, short_name, unit_of

BYTES, PLAIN = "B", ""

# The units of each dimension in rising order, as multiples of the unit that columns have.
LADDERS: dict[str, tuple[tuple[str, float], ...]] = {
    "ns": (("fs", 1e-6), ("ps", 1e-3), ("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)),
    BYTES: tuple((unit, 2.0 ** (10 * i)) for i, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))),
    "GB/s": (("B/s", 1e-9), ("KB/s", 1e-6), ("MB/s", 1e-3), ("GB/s", 1.0), ("TB/s", 1e3), ("PB/s", 1e6)),
    "TFLOPS": (("kFLOPS", 1e-9), ("MFLOPS", 1e-6), ("GFLOPS", 1e-3), ("TFLOPS", 1.0), ("PFLOPS", 1e3), ("EFLOPS", 1e6)),
    "GHz": (("Hz", 1e-9), ("kHz", 1e-6), ("MHz", 1e-3), ("GHz", 1.0)),
    "mm": (("nm", 1e-6), ("µm", 1e-3), ("mm", 1.0), ("m", 1e3)),
    PLAIN: (("", 1.0), ("M", 1e6), ("G", 1e9), ("T", 1e12)),
}
DIGITS = 4  # of a number
WHOLE = 1e6  # whole numbers below it are written out
ENOUGH = 10.0  # of a unit, from which an axis may have it though some values are less than one: 0.5 to 10 µs
MOST, LEAST = 1e5, 1e-3  # of the unit of an axis, between which numbers can be read


@dataclass(frozen=True, slots=True)
class Quantity:
    """The values of a column: its name, the unit of its numbers, and the unit in which all are shown, None for one each."""

    name: str
    base: str
    common: str | None

    @property
    def title(self) -> str:
        """The title of an axis, `latency (µs)`; a unit that the values tell is not repeated."""
        return f"{self.name} ({self.common})" if self.common else self.name

    @property
    def size(self) -> float:
        """What one of the common unit is in the unit of the column; 1 without a common unit."""
        return 1.0 if self.common is None else dict(LADDERS[self.base])[self.common]

    @property
    def binary(self) -> bool:
        """Whether round values are powers of two."""
        return self.base == BYTES

    def show(self, value: float, digits: int = DIGITS) -> str:
        """A value, given in the unit of the column, with its unit if that is not in the title."""
        if not isfinite(value):
            return str(value)
        if self.common is not None:
            return number(value / self.size, digits)
        unit = _unit_of_one(self.base, value, digits)
        shown = number(value / dict(LADDERS[self.base])[unit], digits)
        return f"{shown} {unit}" if unit else shown


def quantity(column: str, values: Iterable[float]) -> Quantity:
    """How to show the values of a column of a sweep's table."""
    base = _base_of(column)
    return Quantity(_name_of(column, base), base, _common(base, values))


def named(name: str, base: str, values: Iterable[float]) -> Quantity:
    """How to show values that have a name of their own; `base` is a key of `LADDERS`."""
    return Quantity(name, base, _common(base, values))


def number(value: float, digits: int = DIGITS) -> str:
    """A number with some significant digits, never with an exponent; whole numbers below a million as they are."""
    if value == 0:
        return "0"
    if abs(value) < WHOLE and value == int(value):
        return f"{int(value):,}"
    places = max(0, digits - 1 - floor(log10(abs(value))))
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _base_of(column: str) -> str:
    if column.startswith(TOPOLOGY):
        return unit_of(column) or PLAIN
    words = column.rpartition(".")[2].split("_")
    if "bytes" in words:
        return BYTES
    return UNITS.get(words[-1], PLAIN) if len(words) > 1 else PLAIN


def _name_of(column: str, base: str) -> str:
    """The name of a column; of a result, as `latency_ns`, without the unit."""
    words = column.split("_")
    if column.startswith(TOPOLOGY) or base in (BYTES, PLAIN):
        return short_name(column)
    return " ".join(words[:-1])


def _common(base: str, values: Iterable[float]) -> str | None:
    """The unit that all values may have, or None."""
    sizes = [abs(float(value)) for value in values if value and isfinite(value)]
    if base == PLAIN or not sizes:
        return None if base == PLAIN and any(size >= WHOLE for size in sizes) else base
    if base == BYTES:
        units = {_unit_of_one(base, size, DIGITS) for size in sizes}
        return units.pop() if len(units) == 1 else None
    unit, size = _reached(base, max(max(sizes) / ENOUGH, min(sizes)))
    return unit if min(sizes) >= LEAST * size and max(sizes) < MOST * size else None


def _unit_of_one(base: str, value: float, digits: int) -> str:
    """The largest unit of which a value is at least one; of a size, that shows it exactly."""
    unit, _ = _reached(base, abs(value))
    if base != BYTES:
        return unit
    exact = [unit for unit, size in LADDERS[base] if abs(value) >= size and _is_short(value / size, digits)]
    return exact[-1] if exact else unit


def _is_short(value: float, digits: int) -> bool:
    """Whether some digits hold a number."""
    return float(f"{value:.{digits}g}") == value


def _reached(base: str, value: float) -> tuple[str, float]:
    ladder = LADDERS[base]
    middle = next(i for i, (_, size) in enumerate(ladder) if size == 1)
    if value == 0:
        return ladder[middle]
    reached = [step for step in ladder if value >= step[1] * (1 - 1e-9)]
    return reached[-1] if reached else ladder[0]
