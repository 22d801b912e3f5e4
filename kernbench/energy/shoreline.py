"""Shorelines: the bandwidth of die-to-die links on each mm of a die's edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.machine.dies import find_dies
from kernbench.machine.price_list import UM_PER_MM

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


class Shoreline(NamedTuple):
    """An edge of the dies of a kind, that of the die where it carries most."""

    kind: str
    name: str  # what the names of its ports begin with
    mm: float
    gbs: float  # of all links that leave the die there, each way

    @property
    def gbs_mm(self) -> float:
        """On each mm."""
        return self.gbs / self.mm if self.mm else 0.0


def list_shorelines(machine: Machine) -> list[Shoreline]:
    """The edges of all kinds of dies whose sizes the topology gives."""
    dies = find_dies(machine)
    source, target = (dies.of_node[ends] for ends in (machine.edge_src, machine.edge_dst))
    leaving = np.flatnonzero((source != target) & (source >= 0) & (target >= 0))
    carried: dict[tuple[str, str, str], float] = {}
    for edge in leaving.tolist():
        die = dies.dies[source[edge]]
        local = machine.node_name[machine.edge_src[edge]].removeprefix(f"{die.name}.")
        for name in machine.prices.shores.get(die.kind, {}):
            if local.startswith(name):
                key = die.kind, name, die.name
                carried[key] = carried.get(key, 0.0) + float(machine.edge_gbs[edge])
    return [
        Shoreline(
            kind,
            name,
            um / UM_PER_MM,
            max((gbs for key, gbs in carried.items() if key[:2] == (kind, name)), default=0.0),
        )
        for kind, shores in machine.prices.shores.items()
        for name, um in shores.items()
    ]
