"""Quantities with units: parse the text of users, format numbers for them.

Every field has a unit of its own, which is part of its name (`_ns`, `_gbs`, `_bytes`). A plain number is in that unit; a
text may carry any unit of the same dimension. Sizes: KiB = 1024 B, KB = 1000 B; counts: Ki = 1024, k = 1000; bandwidths are
decimal. Internal times are int64 femtoseconds.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

FS_PER_NS = 1_000_000
AJ_PER_J, NW_PER_W, AJ_PER_W_FS = 10**18, 10**9, 1000

# The units of each dimension, as multiples of the same base.
DIMENSIONS: dict[str, dict[str, float]] = {
    "time": {"fs": 1e-15, "ps": 1e-12, "ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0},
    "size": {
        "B": 1,
        "KB": 1e3,
        "MB": 1e6,
        "GB": 1e9,
        "TB": 1e12,
        "KiB": 2**10,
        "MiB": 2**20,
        "GiB": 2**30,
        "TiB": 2**40,
    },
    "bandwidth": {"B/s": 1, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "B/ns": 1e9},
    "compute": {"MFLOPS": 1e6, "GFLOPS": 1e9, "TFLOPS": 1e12, "PFLOPS": 1e15},
    "element rate": {"element/ns": 1e9, "element/s": 1.0},
    "energy": {"aJ": 1e-18, "fJ": 1e-15, "pJ": 1e-12, "nJ": 1e-9, "uJ": 1e-6, "µJ": 1e-6, "mJ": 1e-3, "J": 1.0},
    "energy per byte": {
        "aJ/B": 1e-18,
        "fJ/B": 1e-15,
        "pJ/B": 1e-12,
        "nJ/B": 1e-9,
        "fJ/bit": 8e-15,
        "pJ/bit": 8e-12,
    },
    "energy per byte and length": {"fJ/B/mm": 1e-15, "pJ/B/mm": 1e-12, "fJ/bit/mm": 8e-15, "pJ/bit/mm": 8e-12},
    "power": {"nW": 1e-9, "uW": 1e-6, "µW": 1e-6, "mW": 1e-3, "W": 1.0, "kW": 1e3},
    "power per area": {"mW/mm2": 1e-3, "W/mm2": 1.0, "W/cm2": 1e-2},
    "area": {"um2": 1e-6, "µm2": 1e-6, "mm2": 1.0, "cm2": 100.0},
    "price": {"USD": 1.0, "kUSD": 1e3, "MUSD": 1e6},
    "price per size": {"USD/GB": 1.0, "USD/GiB": 1.0 / 1.073741824},
    "price per area": {"USD/mm2": 1.0, "USD/cm2": 0.01},
    "defect density": {"defect/mm2": 1.0, "defect/cm2": 0.01},
    "bandwidth per length": {"GB/s/mm": 1.0, "TB/s/mm": 1e3},
    "feature size": {"nm": 1.0},
    "length": {"um": 1e-6, "µm": 1e-6, "mm": 1e-3, "cm": 1e-2, "m": 1.0},
    "propagation": {"ps/mm": 1e-9, "ns/mm": 1e-6, "ns/m": 1e-9},
    "frequency": {"Hz": 1.0, "kHz": 1e3, "MHz": 1e6, "GHz": 1e9},
    "count": {"": 1.0, "cycle": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30},
}
_BY_ENDING = {"ns": "ns", "us": "us", "ms": "ms", "gbs": "GB/s", "tflops": "TFLOPS", "ghz": "GHz", "mm": "mm"}
_DIMENSION_OF = {unit: name for name, units in DIMENSIONS.items() for unit in units}
MOST_DIGITS = 300  # of a number, and before or after its point by its exponent
_QUANTITY = re.compile(r"\s*([+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\W\d_].*?)?\s*")
_SEVERAL = re.compile(r"\s*[\d.+-].*(?:,|:|\.\.)")  # a list or a range


def parse(quantity: object, unit: str) -> float:
    """A quantity in `unit`: a plain number as it is, a text like "16 KiB" or "0.5us" converted.

    Errors: ValueError naming the text and the units that would do.
    """
    return float(_exact(quantity, unit))


def parse_count(quantity: object, unit: str) -> int:
    """A whole number in `unit` ("16KiB" in "B" is 16384). Errors: ValueError, also for a fraction."""
    number = _exact(quantity, unit)
    if number.denominator != 1:
        raise ValueError(f"got {quantity!r}, expected a whole number{f' of {unit}' if unit else ''}")
    return int(number)


def unit_of(name: str) -> str:
    """The unit that the name of a parameter says: "B" of `nbytes`, `slot_size`, `offset`; "ns" of `gap_ns`; "" of a count."""
    ending = name.rpartition("_")[2]
    return "B" if "bytes" in name or ending in ("size", "offset") else _BY_ENDING.get(ending.lower(), "")


def split(quantity: str) -> tuple[str, str]:
    """The number of a text and its unit, "" without one. Errors: ValueError for a text that is no number with a unit."""
    matched = _match(quantity)
    if matched is None:
        raise ValueError(f"got {quantity!r}, expected a number, alone or with a unit")
    return matched


def is_bare(quantity: object) -> bool:
    """Whether a quantity is a number without a unit."""
    return quantity is not None and (not isinstance(quantity, str) or not split(quantity)[1])


def convert(quantity: str, unit: str) -> Fraction:
    """A quantity in `unit`, exactly. Errors: ValueError as of `parse`, and for an unknown unit."""
    if unit not in _DIMENSION_OF:
        raise ValueError(f"got the unknown unit {unit!r}; known: {', '.join(filter(None, _DIMENSION_OF))}")
    return _exact(quantity, unit)


def _match(quantity: str) -> tuple[str, str] | None:
    """The number and the unit, with the micro sign where the Greek letter was typed; None for what is no number."""
    matched = _QUANTITY.fullmatch(quantity)
    return (
        None
        if matched is None
        else (matched[1], (matched[2] or "").replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}"))
    )


def _exact(quantity: object, unit: str) -> Fraction:
    units = DIMENSIONS[_DIMENSION_OF[unit]]
    matched = _match(str(quantity)) if not isinstance(quantity, bool | None) else None
    if matched is None:
        raise ValueError(f"got {quantity!r}, expected {_count_expected(quantity)}, {_with_units(units)}")
    written, got = matched[0], matched[1] or unit
    if len(written) > MOST_DIGITS or abs(int(written.lower().partition("e")[2] or 0)) > MOST_DIGITS:
        raise ValueError(f"got {str(quantity)[:20]!r}, expected a number that is not out of all proportion")
    number = Fraction(written)
    if got not in units:
        raise ValueError(f"got {quantity!r} with the unknown unit {got!r}, expected a number, {_with_units(units)}")
    return number if got == unit else number * _times(_DIMENSION_OF[unit], got, unit)


@cache
def _times(dimension: str, got: str, unit: str) -> Fraction:
    """How many of one unit another is, exactly."""
    units = DIMENSIONS[dimension]
    return Fraction(str(units[got])) / Fraction(str(units[unit]))


def _count_expected(quantity: object) -> str:
    several = isinstance(quantity, str) and _SEVERAL.match(quantity)
    return "one number (kernbench sweep takes lists, 2,4, and ranges, 2:16:x2)" if several else "a number"


def _with_units(units: dict[str, float]) -> str:
    known = ", ".join(unit for unit in units if unit)
    return f"alone or in one of: {known}" if known else "without a unit"


def format_ns(fs: float) -> str:
    """Femtoseconds in ns with three decimals at most: 76520000 is "76.52 ns"."""
    return f"{f'{fs / FS_PER_NS:,.3f}'.rstrip('0').rstrip('.')} ns"


def format_joules(aj: float) -> str:
    """Attojoules in the largest unit that keeps them at least 1: 86016000000 is "86.02 nJ"."""
    for unit in ("J", "mJ", "µJ", "nJ", "pJ", "fJ"):
        if abs(aj) * 1e-18 >= DIMENSIONS["energy"][unit]:
            return f"{aj * 1e-18 / DIMENSIONS['energy'][unit]:.4g} {unit}"
    return f"{aj:.4g} aJ"


def format_bytes(nbytes: float) -> str:
    """A size in the largest binary unit that keeps it at least 1: 16384 is "16 KiB"."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if abs(nbytes) >= DIMENSIONS["size"][unit]:
            return f"{nbytes / DIMENSIONS['size'][unit]:.4g} {unit}"
    return f"{nbytes:.4g} B"
