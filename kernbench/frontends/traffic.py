"""Traffic: the patterns of a bare network. It has no kernel, so it is swept and probed, and does not run."""

from __future__ import annotations

from kernbench.frontends.frontend import FrontEnd, Named
from kernbench.runs.declared_benches import find_declared
from kernbench.traffic import PATTERN_NAMES

_PARAMETERS = ("load", "loads", "packet_flits", "seed", "window")


def _names() -> Named:
    return {name: dict.fromkeys(_PARAMETERS, ()) for name in PATTERN_NAMES}


FRONT_END = FrontEnd(
    name="traffic",
    kind="pattern",
    title="pattern of traffic",
    machine="mesh_8x8",
    workloads="kernbench.frontends.traffic_workloads",
    claims=lambda name: name in PATTERN_NAMES and name not in find_declared(),
    names=_names,
    runs=False,
    small={"pattern": "uniform", "topology": "mesh_8x8", "parameters": {"window": 100}},
)
