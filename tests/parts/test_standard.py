"""The standard parts with costs are those of the machines."""

from __future__ import annotations

from kernbench.machine.families.registry import FAMILIES
from kernbench.parts import costs
from kernbench.parts.standard import PARTS_WITH_COSTS


def test_parts_with_costs_are_those_of_the_family() -> None:
    bases = (costs.GemmCosts, costs.MathCosts, costs.TcmCosts, costs.TileOrder)
    parts = FAMILIES["sip"].parts()
    assert {name: part for name, part in parts.items() if issubclass(part, bases)} == PARTS_WITH_COSTS
