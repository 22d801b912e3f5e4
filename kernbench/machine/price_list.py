"""What a machine costs: prices of actions, areas and limits, brought to one technology.

Energies are whole attojoules, areas whole µm², static powers whole nW, so sums are exact in any order: 1 mW for 1 fs is 1 aJ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

AJ_PER_PJ = 10**6
UM_PER_MM = 10**3
UM2_PER_MM2 = 10**6
NW_PER_MW = 10**6
PW_PER_UM2 = 10**6  # of a W/mm²


@dataclass(frozen=True, slots=True)
class PartPrices:
    """What one part of a kind costs; None where its sheet has no figure."""

    energy: Mapping[str, int | None]  # aJ of each action
    area_um2: int | None
    fixed_um2: float | None
    each_um2: float | None  # of each unit of `rate`
    rate: str  # of the part, which its area goes with, "" for none
    static_nw: int  # beside that of its area
    usd_gb: float | None
    memory_bytes: int  # of a memory that is bought by it
    bought: str  # "die", "package", "memory" or "board"


def area_um2(fixed_um2: float | None, each_um2: float | None, rate: float) -> int | None:
    """An area in whole µm²; None if nothing of it is known."""
    return None if fixed_um2 is None and each_um2 is None else round((fixed_um2 or 0) + (each_um2 or 0) * rate)


@dataclass(frozen=True, slots=True)
class PriceList:
    """The prices of a machine: of its parts by name, of its technology in the units of its fields, and its limits.

    `outlines`: µm² of each kind of die whose size the topology gives; `shores`: µm of its edges, by what the names of the ports
    there begin with.
    """

    parts: Mapping[str, PartPrices] = field(default_factory=dict[str, PartPrices])
    technology: Mapping[str, float] = field(default_factory=dict[str, float])
    outlines: Mapping[str, int] = field(default_factory=dict[str, int])
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    shores: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> PriceList:
        """The list from the plain values that `dataclasses.asdict` makes of it."""
        parts = {name: PartPrices(**one) for name, one in plain["parts"].items()}
        return cls(parts, plain["technology"], plain["outlines"], plain["limits"], plain["shores"])

    def find(self, part: str, action: str) -> int | None:
        """The price of an action, aJ; None without a figure."""
        found = self.parts.get(part)
        return None if found is None else found.energy.get(action)

    @property
    def rates(self) -> list[str]:
        """The fields, by dotted path, that areas of parts go with."""
        return [f"{name}.{one.rate}" for name, one in self.parts.items() if one.rate]

    def with_rates(self, values: Mapping[str, float]) -> PriceList:
        """The list of the same machine with other values of rates, by dotted path."""
        parts = dict(self.parts)
        for name, one in self.parts.items():
            if (rate := values.get(f"{name}.{one.rate}")) is not None:
                parts[name] = replace(one, area_um2=area_um2(one.fixed_um2, one.each_um2, rate))
        return replace(self, parts=parts)

    @property
    def wire_aj_mm(self) -> int | None:
        """The price of a byte on a mm of wire on a die; None without a technology."""
        wire = self.technology.get("wire_pj_mm")
        return None if wire is None else round(wire * AJ_PER_PJ)

    @property
    def static_pw_um2(self) -> int | None:
        """The static power of a µm² of die; None without a technology."""
        density = self.technology.get("static_w_mm2")
        return None if density is None else round(density * PW_PER_UM2)
