"""Static power: what a machine draws while it does nothing.

A part draws the power of its area on a die and what its sheet adds. The rest of a die, which no part with an area takes, draws
that of its area. Parts may be larger than their die together: then the rest is empty, and `show --cost` says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kernbench.machine.dies import Die, find_dies, priced_parts
from kernbench.units import AJ_PER_W_FS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.price_list import PriceList

NW_FS_PER_AJ = 10**6
_KEPT = "instances"


class Draw(NamedTuple):
    """Equal parts on one die, or the rest of it."""

    die: Die | None  # None: on the board
    part: str  # "" for the rest of a die
    count: int
    um2: int | None  # of each; None: no figure
    nw: int  # of each


@dataclass(frozen=True, slots=True)
class Instances:
    """How many parts of each kind are on each die of a machine; the same for machines that differ in times alone."""

    dies: tuple[Die, ...]
    counts: tuple[tuple[Die | None, str, int], ...]

    @classmethod
    def of(cls, machine: Machine) -> Instances:
        """Those of a machine; kept."""
        if _KEPT not in machine.memo:
            machine.memo[_KEPT] = cls._find(machine)
        return machine.memo[_KEPT]

    @classmethod
    def _find(cls, machine: Machine) -> Instances:
        dies, parts = find_dies(machine), own_parts(machine)
        found = Counter(zip(dies.of_node.tolist(), parts, strict=True))
        listed = ((None if die < 0 else dies.dies[die], part, count) for (die, part), count in found.items() if part)
        return cls(dies.dies, tuple(listed))

    def draws(self, prices: PriceList) -> list[Draw]:
        """The static power of all parts, and of the rests of dies of a known size."""
        density, found = prices.static_pw_um2 or 0, list[Draw]()
        rest = {die: prices.outlines.get(die.kind, 0) for die in self.dies}
        for die, part, count in self.counts:
            one = prices.parts.get(part)
            area = None if one is None else one.area_um2
            of_area = 0 if die is None else _nw(area or 0, density)
            found.append(Draw(die, part, count, area, of_area + (0 if one is None else one.static_nw)))
            if die is not None:
                rest[die] -= count * (area or 0)
        return found + [Draw(die, "", 1, um2, _nw(um2, density)) for die, um2 in rest.items() if um2 > 0]


def count_draws(draws: Iterable[Draw]) -> Mapping[int, int]:
    """How many parts and rests draw each power, by nW."""
    found = Counter[int]()
    for draw in draws:
        found[draw.nw] += draw.count
    return found


def static_aj(counts: Mapping[int, int], span_fs: int) -> int:
    """The static energy of a time: that of every part and every rest (`count_draws`), each to an attojoule."""
    return sum(count * energy_aj(nw, span_fs) for nw, count in counts.items())


def mean_w(energy_aj: float, span_fs: float) -> float:
    """The mean power of an energy over a time; 0 for no time."""
    return energy_aj / span_fs / AJ_PER_W_FS if span_fs else 0.0


def energy_aj(power_nw: int, span_fs: int) -> int:
    """A power over a time, to the nearest attojoule."""
    return (2 * power_nw * span_fs + NW_FS_PER_AJ) // (2 * NW_FS_PER_AJ)


def own_parts(machine: Machine) -> tuple[str, ...]:
    """The part of each node; "" for a port whose connections are the parts."""
    parts, names = priced_parts(machine), machine.node_name
    ports = {name.rpartition(".")[0] for name, kind in zip(names, machine.node_kind, strict=True) if kind == "conn"}
    return tuple("" if name in ports else part for name, part in zip(names, parts, strict=True))


def _nw(um2: int, density_pw: int) -> int:
    return um2 * density_pw // 1000
