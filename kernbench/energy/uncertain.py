"""Between what ends the energy of a run, and the area and the price of a machine, may be: prices have ranges.

Each uncertain figure goes to either end of its range, one at a time. What the total loses and gains is combined as for
independent errors, by the root of the sum of squares; the extremes have all figures at their ends at once. A chosen figure
without a range may be a fifth less or more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.energy.bill import find_price
from kernbench.energy.byte_prices import TECHNOLOGY, WIRE
from kernbench.energy.static import Instances, count_draws, static_aj
from kernbench.machine.price_list import PriceList, area_um2

if TYPE_CHECKING:
    from kernbench.energy.run_energy import RunEnergy
    from kernbench.machine.machine import Machine
    from kernbench.machine.sheets.uncertainty import UncertainFigure


class Effect(NamedTuple):
    """A total with one figure at either end of its range."""

    figure: UncertainFigure
    at_low: float
    at_high: float


@dataclass(frozen=True, slots=True)
class TotalRange:
    """Between what ends a total may be; `effects` of single figures, the largest first."""

    value: float
    low: float
    high: float
    least: float  # with all figures at the ends that give less
    most: float
    effects: tuple[Effect, ...]

    @classmethod
    def of(cls, value: float, effects: Sequence[Effect]) -> TotalRange:
        """That of a total and the effects of single figures."""
        from kernbench.machine.sheets.uncertainty import combine  # it loads the checker of sheets

        moved = [one for one in effects if (one.at_low, one.at_high) != (value, value)]
        less = [max(value - min(one.at_low, one.at_high), 0) for one in moved]
        more = [max(max(one.at_low, one.at_high) - value, 0) for one in moved]
        moved.sort(key=lambda one: (-abs(one.at_high - one.at_low), one.figure.field))
        ends = combine(value, [(one.at_low, one.at_high) for one in moved])
        return cls(value, *ends, max(value - sum(less), 0), value + sum(more), tuple(moved))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        figures = [{**one.figure.to_dict(), "at_low": one.at_low, "at_high": one.at_high} for one in self.effects]
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "least": self.least,
            "most": self.most,
            "figures": figures,
        }


def find_energy_range(energy: RunEnergy) -> TotalRange | None:
    """The range of the energy of a run in attojoules; None for a machine without a file."""
    machine = energy.machine
    dynamic = {(one.part, one.action): one.energy_aj or 0 for one in energy.by_action()}
    instances, span_fs = Instances.of(machine), energy.makespan_fs

    def at(figure: UncertainFigure, value: float) -> float:
        action = _action_of(figure.field)
        if action is not None and figure.value:
            return energy.total_aj + dynamic.get(action, 0) * (value / figure.value - 1)
        if _is_static(figure.field):
            draws = instances.draws(_with_field(machine.prices, figure, value))
            return energy.dynamic_aj + static_aj(count_draws(draws), span_fs)
        return energy.total_aj

    return _range(machine, energy.total_aj, at)


def find_cost_range(machine: Machine) -> TotalRange | None:
    """The range of the price of a machine in $; None where the price is not known, and for a machine without a file."""
    instances = Instances.of(machine)

    def cost(prices: PriceList) -> float | None:
        return find_price(instances, prices, instances.draws(prices))[1]

    known = cost(machine.prices)
    if known is None:
        return None
    return _range(machine, known, lambda figure, value: cost(_with_field(machine.prices, figure, value)) or known)


def _range(machine: Machine, value: float, at: Callable[[UncertainFigure, float], float]) -> TotalRange | None:
    if machine.file is None:
        return None
    from kernbench.machine.sheets.uncertainty import find_uncertain_prices  # as above

    found = find_uncertain_prices(machine.file, machine.overrides).values()
    figures = [one for one in found if one.value or one.field.startswith(TECHNOLOGY)]
    return TotalRange.of(value, [Effect(one, at(one, one.low), at(one, one.high)) for one in figures])


def _action_of(field: str) -> tuple[str, str] | None:
    """The part and the action that a field prices."""
    if field == f"{TECHNOLOGY}.wire_pj_mm":
        return TECHNOLOGY, WIRE
    part, _, price = field.partition(".energy.")
    return (part, price.removesuffix("_pj")) if price else None


def _is_static(field: str) -> bool:
    return field.startswith(f"{TECHNOLOGY}.static_") or ".silicon." in field


def _with_field(prices: PriceList, figure: UncertainFigure, value: float) -> PriceList:
    """The list with another value of a figure of a part's silicon, or of the technology."""
    part, _, name = figure.field.partition(".silicon.")
    if not name:
        technology = figure.field.partition(".")[2]
        return replace(prices, technology={**prices.technology, technology: value})
    one, times = prices.parts[part], value / figure.value
    match name:
        case "area_mm2" | "area_each_mm2":
            own = "fixed_um2" if name == "area_mm2" else "each_um2"
            scaled: dict[str, Any] = {own: (getattr(one, own) or 0) * times}
            changed = replace(one, **scaled)
            rate = _rate_of(one.area_um2, one.fixed_um2, one.each_um2)
            found = replace(changed, area_um2=area_um2(changed.fixed_um2, changed.each_um2, rate))
        case "static_mw":
            found = replace(one, static_nw=round(one.static_nw * times))
        case "usd_gb":
            found = replace(one, usd_gb=value)
        case _:
            found = one
    return replace(prices, parts={**prices.parts, part: found})


def _rate_of(area: int | None, fixed_um2: float | None, each_um2: float | None) -> float:
    """How many times its `each_um2` a part takes."""
    return ((area or 0) - (fixed_um2 or 0)) / each_um2 if each_um2 else 1.0
