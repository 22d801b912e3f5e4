"""The standard parts whose methods give costs, by kind: the classes beside the cost methods in `costs`.

They are parts with parameters, so this module loads the schema; machines with standard parts alone do without it.
"""

from __future__ import annotations

from kernbench.components.compute import PeGemm, PeMath
from kernbench.components.memory import PeTcm
from kernbench.components.part import Part
from kernbench.components.tiling import Tiling

PARTS_WITH_COSTS: dict[str, type[Part]] = {part.kind: part for part in (PeGemm, PeMath, PeTcm, Tiling)}
