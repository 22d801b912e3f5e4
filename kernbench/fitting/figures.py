"""Which figures of a machine a fit may move, and between what ends.

Those that are named move; where none is named, those that are chosen do, if times alone follow from them or a range is
stated. A figure moves inside the range that its sheet, its topology or the request gives, else between a quarter and four
times its value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernbench.errors import InputError, KernBenchError, shorten, suggest
from kernbench.machine import load_machine
from kernbench.machine.load import load_spec
from kernbench.machine.overrides import TOPOLOGY
from kernbench.machine.sheets.field_values import FieldValue, ShownTopology, show_topology
from kernbench.machine.sheets.uncertainty import CHOSEN, is_chosen, is_price
from kernbench.schema.model import Model

WIDE = 4.0  # how many times its value a figure without a range may be, or its value may be it


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure that may move between two ends, in the unit of its field."""

    field: str
    value: float  # on the given machine
    low: float
    high: float
    unit: str

    @property
    def is_ratio(self) -> bool:
        """Whether it moves in ratios; else, as its low end is 0, in differences."""
        return self.low > 0

    @property
    def width(self) -> float:
        """Its range: the logarithm of high over low, or for a low end of 0 the difference over the value or over high."""
        return float(np.log(self.high / self.low)) if self.is_ratio else self.high / (self.value or self.high)

    def relative(self, share: float) -> float:
        """The slope of the relative value by the share, where it has a share of its range."""
        if self.is_ratio:
            return self.width
        return (self.high - self.low) / max(float(self.at(np.array(share))), 1e-3 * self.high)

    def at(self, share: np.ndarray) -> np.ndarray:
        """The values at shares of the range, 0 at its low end and 1 at its high end."""
        if self.is_ratio:
            return self.low * (self.high / self.low) ** share
        return self.low + (self.high - self.low) * share

    def share(self, value: float) -> float:
        """Where in the range a value is."""
        if self.is_ratio:
            return float(np.log(value / self.low) / self.width)
        return (value - self.low) / (self.high - self.low)


class LeftOut(NamedTuple):
    """A figure that does not move, and why."""

    field: str
    why: str


def choose_figures(
    topology: str, overrides: Mapping[str, object], named: Sequence[str]
) -> tuple[list[Figure], list[LeftOut]]:
    """The figures that may move, and the chosen ones that cannot.

    `named` are fields, each alone or with ends, as "noc.gbs=100..400", and the word "chosen" for all chosen ones.
    Errors: InputError for an unknown field, one without a number, a whole one, ends that cannot be, or no figure at all.
    """
    shown = show_topology(topology, overrides)
    known = {one.path: one for one in shown.all_fields}
    found: dict[str, Figure] = {}
    left: list[LeftOut] = []
    for text in named or [CHOSEN]:
        name, has_ends, ends = text.removeprefix(TOPOLOGY).partition("=")
        name = name.strip()
        if name == CHOSEN and not has_ends:
            _add_chosen(shown, load_machine(topology, overrides).origins().fields, found, left)
        elif name not in known:
            raise InputError(f"unknown topology field {shorten(name)!r}{suggest(name, _akin(name, known))}")
        elif name in found and has_ends == "" and named.count(text) > 1:
            raise InputError(f"the field {name!r} is named twice; name it once")
        elif is_price(name):
            raise InputError(f"{name} cannot be fitted: it is a price, from which no time follows; name another field")
        else:
            given = _read_ends(topology, overrides, known[name], ends) if has_ends else known[name].range
            figure = _figure(known[name], given)
            if isinstance(figure, str):
                raise InputError(f"{name} cannot be fitted: {figure}")
            found[name] = figure
    if not found:
        why = "; ".join(f"{one.field}: {one.why}" for one in left[:3])
        raise InputError(
            f"no figure of {topology} has the source 'chosen'{f' and can move ({why})' if why else ''}; "
            "name those to fit with --field, as --field noc.gbs=100..400"
        )
    return list(found.values()), left


def _add_chosen(shown: ShownTopology, varying: Collection[str], found: dict[str, Figure], left: list[LeftOut]) -> None:
    for one in shown.all_fields:
        if not is_chosen(one.source) or one.path in found or _is_no_number(one) or is_price(one.path):
            continue
        figure = _figure(one, one.range)
        if isinstance(figure, Figure) and one.range is None and one.path not in varying:
            figure = "it decides more than times; name it, or give it a range"
        if isinstance(figure, str):
            left.append(LeftOut(one.path, figure))
        else:
            found[one.path] = figure


def _figure(one: FieldValue, ends: tuple[float, float] | None) -> Figure | str:
    """The figure, or why it cannot move."""
    if _is_no_number(one):
        return f"it is {one.written!r}, which is no number"
    if isinstance(one.value, int):
        return "it is a whole number, which a sweep varies"
    if ends is None and not one.value:
        return "it is 0 and has no range; give one"
    low, high = ends or (one.value / WIDE, one.value * WIDE)
    return Figure(one.path, float(one.value), low, high, one.field.unit)


def _is_no_number(one: FieldValue) -> bool:
    return isinstance(one.value, bool) or not isinstance(one.value, int | float)


def _read_ends(topology: str, overrides: Mapping[str, object], one: FieldValue, text: str) -> tuple[float, float]:
    """The ends of "100..400", in the unit of the field; the value itself lies between them."""
    low, dots, high = text.partition("..")
    if not dots:
        raise InputError(f"{one.path} got {shorten(text)!r}; give the ends of its range, as {one.path}=100..400")
    ends: list[float] = []
    for end in (low, high):
        try:
            spec: Model = load_spec(topology, {**overrides, one.path: end.strip()})
        except KernBenchError as error:
            raise InputError(str(error).replace("override ", "the range of ", 1)) from None
        value: object = spec
        for name in one.path.split("."):
            value = getattr(value, name)
        ends.append(float(value))  # pyright: ignore[reportArgumentType]
    if not ends[0] < ends[1] or not ends[0] <= float(one.value) <= ends[1]:
        raise InputError(
            f"{one.path} got the range {shorten(text)!r}, and its value is {one.written}; give the least and the most that it "
            "may be, with the value between them"
        )
    return ends[0], ends[1]


def _akin(name: str, known: Mapping[str, FieldValue]) -> list[str]:
    part = name.partition(".")[0]
    return [path for path in known if path.partition(".")[0] == part] or list(known)
