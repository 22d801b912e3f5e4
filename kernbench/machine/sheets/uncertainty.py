"""Figures of a machine that are not certain, and between what ends each may be.

A figure is uncertain if its sheet or its topology gives a range, or if its source begins with `chosen`: then nobody has
published it, and it may be a fifth less or more. What somebody sets for a run is certain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import hypot
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernbench.machine.sheets.field_values import FieldValue, show_topology

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine

CHOSEN = "chosen"
PRICES = frozenset(("energy", "silicon", "technology"))  # blocks of sheets, and the part that dies are made in
SHARE = 0.2  # of a chosen figure without a range: how much less or more it may be


@dataclass(frozen=True, slots=True)
class UncertainFigure:
    """A figure that may be anything between two ends, in the unit of its field."""

    field: str
    value: float
    low: float
    high: float
    unit: str
    source: str
    ranged: bool  # whether the ends are stated; else they are SHARE below and above

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "field": self.field,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "unit": self.unit,
            "source": self.source,
        }

    @property
    def shown_range(self) -> str:
        """Its ends in words."""
        return f"{self.low:.6g} … {self.high:.6g} {self.unit}".rstrip() if self.ranged else f"± {SHARE:.0%}"


def combine(value: float, ends: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The error bar of what follows from figures: its low and high end, by what it is at both ends of each figure.

    Errors are taken as independent: what is lost and gained is combined by the root of the sum of squares.
    """
    pairs = list(ends)
    less = hypot(*(max(value - min(pair), 0) for pair in pairs))
    more = hypot(*(max(max(pair) - value, 0) for pair in pairs))
    return max(value - less, 0), value + more


def find_uncertain(topology: str | Path, overrides: Mapping[str, object] | None = None) -> dict[str, UncertainFigure]:
    """The uncertain figures of a topology by their fields: numbers, but for chosen ones that are 0 and have no range.

    Prices (energy, area, money) are left out: no time follows from them.

    Errors: InputError as `load_machine`.
    """
    return {name: one for name, one in _find(topology, overrides).items() if not is_price(name)}


def find_uncertain_prices(
    topology: str | Path, overrides: Mapping[str, object] | None = None
) -> dict[str, UncertainFigure]:
    """The same of prices, from which no time follows. Errors: InputError as `load_machine`."""
    return {name: one for name, one in _find(topology, overrides).items() if is_price(name)}


def _find(topology: str | Path, overrides: Mapping[str, object] | None) -> dict[str, UncertainFigure]:
    found = (_read(one) for one in show_topology(topology, overrides).all_fields)
    return {one.field: one for one in found if one is not None}


def uncertain_of(machine: Machine) -> dict[str, UncertainFigure]:
    """The uncertain figures of a machine from which times alone follow, and those with a range; see `find_uncertain`.

    A chosen figure that decides more than times, such as a number of channels, is uncertain only between ends that a sheet
    states.
    """
    assert machine.file is not None
    fields = machine.origins().fields
    found = find_uncertain(machine.file, machine.overrides)
    return {name: one for name, one in found.items() if one.ranged or name in fields}


def is_price(field: str) -> bool:
    """Whether a field is a price of a part or of the technology, such as `hbm.energy.read_byte_pj`."""
    return not PRICES.isdisjoint(field.split("."))


def is_chosen(source: str) -> bool:
    """Whether a source says that the figure is ours."""
    return source.startswith(CHOSEN)


def _read(one: FieldValue) -> UncertainFigure | None:
    if isinstance(one.value, bool) or not isinstance(one.value, int | float):
        return None
    if one.range is not None:
        return UncertainFigure(one.path, one.value, *one.range, one.field.unit, one.source, ranged=True)
    if not is_chosen(one.source) or not one.value:
        return None
    ends = one.value * (1 - SHARE), one.value * (1 + SHARE)
    return UncertainFigure(one.path, one.value, *ends, one.field.unit, one.source, ranged=False)
