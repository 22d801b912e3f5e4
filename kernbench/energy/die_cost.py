"""What dies and packages cost: dies of a wafer, their yield, and the price of a good one.

Dies of a wafer: π d² / 4A − π d / √(2A), not rounded; the diameter d is without the edge, the area A with a scribe line around.
Yield: the negative binomial (1 + A D / α)^−α. Both are as in ttm-cas, `supply_chain_model.py` (edge and scribe 0, α 3), and in
Chiplet Actuary, `parameter.ini` (edge 5 mm, scribe 0.2 mm, α 10).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import pi, sqrt


@dataclass(frozen=True, slots=True)
class DieCost:
    """What a good die of some size costs."""

    mm2: float
    dies_a_wafer: float
    yield_share: float  # 0 … 1
    usd: float


def find_die_cost(mm2: float, technology: Mapping[str, float]) -> DieCost | None:
    """The cost of a die; None for one that does not fit on a wafer. `technology`: the fields of the part by name."""
    diameter = technology["wafer_mm"] - 2 * technology["edge_mm"]
    taken = (sqrt(mm2) + technology["scribe_mm"]) ** 2
    count = pi * diameter**2 / (4 * taken) - pi * diameter / sqrt(2 * taken) if taken else 0.0
    if count <= 0:
        return None
    alpha = technology["clustering"]
    good = (1 + mm2 * technology["defects_mm2"] / alpha) ** -alpha
    return DieCost(mm2, count, good, technology["wafer_usd"] / (count * good))


def package_usd(dies_mm2: float, technology: Mapping[str, float]) -> float:
    """The price of a package with dies of an area together: a fixed part, and its substrate by area."""
    substrate_mm2 = dies_mm2 * technology["substrate_times"]
    return technology["package_usd"] + technology["substrate_usd_mm2"] * substrate_mm2
