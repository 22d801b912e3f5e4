"""The bill of a machine: area and price of its dies, its packages and its memories, and what of it is not known.

A die is as large as the topology says, else as its parts are together. A memory is bought by its size. What is bought for the
board has no price here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from kernbench.energy.die_cost import DieCost, find_die_cost, package_usd
from kernbench.energy.peak_power import Peak, list_peaks
from kernbench.energy.shoreline import list_shorelines
from kernbench.energy.static import Draw, Instances
from kernbench.machine.price_list import UM2_PER_MM2
from kernbench.units import NW_PER_W

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.machine.price_list import PriceList

BYTES_PER_GB = 10**9


class DieBill(NamedTuple):
    """The dies of one kind."""

    kind: str
    count: int
    mm2: float | None  # of each, that is bought; None: it is not known
    parts_mm2: float  # of each, taken by parts with an area
    cost: DieCost | None  # of each


class PackageBill(NamedTuple):
    """One package: the area of its dies, and what it draws with all parts at full rate, static power with it."""

    name: str
    dies: int
    dies_mm2: float | None
    peak_w: float


class PartBill(NamedTuple):
    """The parts of one name: what they take and draw together. `mm2` is None without a figure."""

    part: str  # "" for the rests of dies
    count: int
    mm2: float | None
    static_w: float
    peak_w: float  # dynamic, at full rate
    usd: float | None  # its share of its dies by area, and what memory is bought with it


@dataclass(frozen=True, slots=True)
class Bill:
    """What a machine takes, draws at most, and costs."""

    dies: tuple[DieBill, ...]
    parts: tuple[PartBill, ...]
    packages: tuple[PackageBill, ...]
    packages_usd: float | None  # of all
    memory_gb: float
    memory_usd: float | None  # of all
    missing: tuple[str, ...]  # sentences on what has no figure
    warnings: tuple[str, ...]

    @property
    def area_mm2(self) -> float | None:
        """The area of all dies; None if that of one is not known."""
        return _area_mm2(self.dies)

    @property
    def cost_usd(self) -> float | None:
        """The price of all dies, packages and memories; None if one is not known."""
        return _cost_usd(self.dies, self.packages_usd, self.memory_usd)

    @property
    def package_w(self) -> float:
        """The peak of the package that draws most."""
        return max((one.peak_w for one in self.packages), default=0.0)

    @property
    def peak_w(self) -> float:
        """The power of all parts at full rate, static power with it."""
        return sum(one.static_w + one.peak_w for one in self.parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "area_mm2": self.area_mm2,
            "cost_usd": self.cost_usd,
            "peak_w": self.peak_w,
            "package_w": self.package_w,
            "packages": [one._asdict() for one in self.packages],
            "packages_usd": self.packages_usd,
            "memory_gb": self.memory_gb,
            "memory_usd": self.memory_usd,
            "dies": [{**one._asdict(), "cost": None if one.cost is None else _plain(one.cost)} for one in self.dies],
            "parts": [one._asdict() for one in self.parts],
            "missing": list(self.missing),
            "warnings": list(self.warnings),
        }


class Memories(NamedTuple):
    """The memories that are bought by their size."""

    gb: float
    usd: float | None


def find_bill(machine: Machine) -> Bill:
    """The bill of a machine."""
    instances, prices = Instances.of(machine), machine.prices
    draws, peaks = instances.draws(prices), list_peaks(machine)
    dies, memories = _bill_dies(instances, prices, draws), _bill_memories(instances, prices)
    packages = _bill_packages(instances, dies, draws, peaks)
    return Bill(
        dies=tuple(dies),
        parts=tuple(_bill_parts(machine, draws, peaks, dies)),
        packages=tuple(packages),
        packages_usd=_packages_usd(len(packages), prices, dies),
        memory_gb=memories.gb,
        memory_usd=memories.usd,
        missing=tuple(_list_missing(machine, instances)),
        warnings=tuple(_list_warnings(machine, dies, max((one.peak_w for one in packages), default=0.0))),
    )


def find_price(instances: Instances, prices: PriceList, draws: Sequence[Draw]) -> tuple[float | None, float | None]:
    """The area in mm² and the price in $ of a machine, as its bill has them; None for what is not known."""
    dies, packages = _bill_dies(instances, prices, draws), {die.package for die in instances.dies}
    memories = _bill_memories(instances, prices)
    return _area_mm2(dies), _cost_usd(dies, _packages_usd(len(packages), prices, dies), memories.usd)


def _area_mm2(dies: Sequence[DieBill]) -> float | None:
    areas = [one.mm2 for one in dies]
    return None if None in areas else sum(one.count * (one.mm2 or 0) for one in dies)


def _cost_usd(dies: Sequence[DieBill], packages_usd: float | None, memory_usd: float | None) -> float | None:
    every = [*(None if one.cost is None else one.count * one.cost.usd for one in dies), packages_usd, memory_usd]
    return None if None in every else sum(usd or 0 for usd in every)


def _packages_usd(count: int, prices: PriceList, dies: Sequence[DieBill]) -> float | None:
    area = _area_mm2(dies)
    return (
        count * package_usd(area / max(count, 1), prices.technology) if prices.technology and area is not None else None
    )


def _bill_memories(instances: Instances, prices: PriceList) -> Memories:
    found = [(prices.parts[part], count) for _, part, count in instances.counts if part in prices.parts]
    bought = [(one, count * one.memory_bytes / BYTES_PER_GB) for one, count in found if one.memory_bytes]
    known = all(one.usd_gb is not None for one, _ in bought)
    return Memories(sum(gb for _, gb in bought), sum(gb * (one.usd_gb or 0) for one, gb in bought) if known else None)


def _bill_dies(instances: Instances, prices: PriceList, draws: Sequence[Draw]) -> list[DieBill]:
    return [_bill_die(kind, prices, draws) for kind in dict.fromkeys(die.kind for die in instances.dies)]


def _bill_die(kind: str, prices: PriceList, draws: Sequence[Draw]) -> DieBill:
    of_kind = [draw for draw in draws if draw.die is not None and draw.die.kind == kind]
    count = len({draw.die for draw in of_kind})
    taken = sum(draw.count * (draw.um2 or 0) for draw in of_kind if draw.part) / count / UM2_PER_MM2
    outline = prices.outlines.get(kind)
    known = outline is not None or all(draw.um2 is not None for draw in of_kind)
    mm2 = (taken if outline is None else outline / UM2_PER_MM2) if known else None
    cost = find_die_cost(mm2, prices.technology) if mm2 and prices.technology else None
    return DieBill(kind, count, mm2, taken, cost)


def _bill_parts(
    machine: Machine, draws: Sequence[Draw], peaks: Sequence[Peak], dies: Sequence[DieBill]
) -> list[PartBill]:
    usd_mm2 = {die.kind: die.cost.usd / die.mm2 for die in dies if die.cost is not None and die.mm2}
    count, static, area = Counter[str](), Counter[str](), dict[str, float | None]()
    peak, usd = defaultdict[str, float](float), defaultdict[str, float](float)
    for draw in draws:
        count[draw.part] += draw.count
        static[draw.part] += draw.count * draw.nw
        mm2 = None if draw.um2 is None else draw.count * draw.um2 / UM2_PER_MM2
        area[draw.part] = None if mm2 is None else (area.get(draw.part) or 0) + mm2
        usd[draw.part] += (mm2 or 0) * (usd_mm2.get(draw.die.kind, 0) if draw.die is not None else 0)
        one = machine.prices.parts.get(draw.part)
        if one is not None and one.memory_bytes and one.usd_gb:
            usd[draw.part] += draw.count * one.memory_bytes / BYTES_PER_GB * one.usd_gb
    for one in peaks:
        peak[one.part] += one.watts
    names = dict.fromkeys([*count, *peak])
    return [
        PartBill(name, count[name], area.get(name), static[name] / NW_PER_W, peak[name], usd[name] or None)
        for name in names
    ]


def _bill_packages(
    instances: Instances, dies: Sequence[DieBill], draws: Sequence[Draw], peaks: Sequence[Peak]
) -> list[PackageBill]:
    sizes, found = {one.kind: one.mm2 for one in dies}, list[PackageBill]()
    for package in dict.fromkeys(die.package for die in instances.dies):
        own = [sizes[die.kind] for die in instances.dies if die.package == package]
        area = None if None in own else sum(mm2 or 0 for mm2 in own)
        found.append(PackageBill(package, len(own), area, _package_w(package, draws, peaks)))
    return found


def _package_w(package: str, draws: Sequence[Draw], peaks: Sequence[Peak]) -> float:
    static = sum(draw.count * draw.nw for draw in draws if draw.die is not None and draw.die.package == package)
    return static / NW_PER_W + sum(one.watts for one in peaks if one.die is not None and one.die.package == package)


def _list_missing(machine: Machine, instances: Instances) -> list[str]:
    """What has no figure: areas on dies of no known size, prices of memories, parts on the board."""
    prices, found = machine.prices, list[str]()
    for die, part, _ in instances.counts:
        one = prices.parts.get(part)
        if one is None:
            continue
        if die is not None and die.kind not in prices.outlines and one.area_um2 is None:
            found.append(f"no area figure: {part}.silicon.area_mm2")
        if one.memory_bytes and one.usd_gb is None:
            found.append(f"no price: {part}.silicon.usd_gb")
        if one.bought == "board":
            found.append(f"no price of {part}, which is bought for the board")
    if not prices.technology:
        found.append("no technology: the family of this machine has none")
    return sorted(set(found))


def _list_warnings(machine: Machine, dies: Sequence[DieBill], package_w: float) -> list[str]:
    """A sentence for each limit that is exceeded, and for each die whose parts do not fit."""
    limits, found = machine.prices.limits, list[str]()
    for die in dies:
        if die.mm2 is not None and die.parts_mm2 > die.mm2:
            found.append(
                f"the parts of a die {die.kind} take {die.parts_mm2:,.1f} mm² and do not fit on its {die.mm2:,.1f} mm²"
            )
        reticle = limits.get("reticle_mm2")
        if reticle is not None and die.mm2 is not None and die.mm2 > reticle:
            found.append(
                f"a die {die.kind} of {die.mm2:,.1f} mm² is larger than limits.reticle_mm2, {reticle:,.1f} mm²"
            )
    most = limits.get("package_w")
    if most is not None and package_w > most:
        found.append(
            f"a package draws {package_w:,.1f} W with all parts at full rate, more than limits.package_w, {most:,.1f} W"
        )
    shore = limits.get("shoreline_gbs_mm")
    for one in list_shorelines(machine):
        if shore is not None and one.gbs_mm > shore:
            found.append(
                f"the edge {one.name} of a die {one.kind} carries {one.gbs_mm:,.1f} GB/s on each mm, each way, more than "
                f"limits.shoreline_gbs_mm, {shore:,.1f} GB/s/mm"
            )
    return found


def _plain(cost: DieCost) -> dict[str, float]:
    return {"dies_a_wafer": cost.dies_a_wafer, "yield": cost.yield_share, "usd": cost.usd}
