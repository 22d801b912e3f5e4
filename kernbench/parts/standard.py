"""The standard parts whose methods give costs, by kind: the classes beside the cost methods in `costs`.

They are parts with parameters, so this module loads the schema; machines with standard parts alone do without it.
"""

from __future__ import annotations

from kernbench.parts.compute import PeGemm, PeMath
from kernbench.parts.memory import PeTcm
from kernbench.parts.part import Part
from kernbench.parts.tiling import Tiling

PARTS_WITH_COSTS: dict[str, type[Part]] = {part.kind: part for part in (PeGemm, PeMath, PeTcm, Tiling)}
