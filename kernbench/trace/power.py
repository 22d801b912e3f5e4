"""Power of a run over time in a trace: of each process, and of the whole run by kind of part.

A part draws power where it is: of a transfer the memory, each router and each link draw their share in their own processes. A
link is in the process of the node where it begins.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kernbench.energy.power import find_static_w, spread_energies
from kernbench.energy.row_energies import RowEnergies
from kernbench.energy.row_places import place_energies
from kernbench.trace.parts import RUN
from kernbench.units import AJ_PER_W_FS

if TYPE_CHECKING:
    from collections.abc import Hashable

    from kernbench.machine.machine import Machine
    from kernbench.oplog.bins import Bins
    from kernbench.oplog.causes import Times
    from kernbench.program.program import Program
    from kernbench.trace.filters import TraceFilter
    from kernbench.trace.parts import PartTracks

DYNAMIC, STATIC, TOTAL = "dynamic", "static", "total"


class PowerGauges(NamedTuple):
    """Mean powers of bins."""

    process: list[str]
    name: list[str]
    watts: np.ndarray  # float64[bin, gauge]


def measure_power(program: Program, times: Times, bins: Bins, chosen: TraceFilter, parts: PartTracks) -> PowerGauges:
    """The dynamic power of chosen parts by process; where all are chosen, that of the run by part, and static power."""
    machine = program.machine
    names = _name_places(machine)
    counts = chosen.matches(names)
    process = {name: parts.split(name)[0] for name in names}

    def group_of(place: int, part: str) -> Hashable:
        return (process[names[place]], part) if counts[place] else None

    placed = place_energies(RowEnergies(program), group_of)
    spent = spread_energies(program, times, bins, placed) / (bins.length_fs[:, None] * float(AJ_PER_W_FS))
    groups: list[tuple[str, str]] = [*placed.groups]  # pyright: ignore[reportAssignmentType]
    found = _sum_columns(spent, [(process, DYNAMIC) for process, _ in groups])
    if not chosen.parts:
        found |= _sum_columns(spent, [(RUN, part) for _, part in groups])
        static = np.full(len(spent), find_static_w(machine))
        found[RUN, STATIC], found[RUN, TOTAL] = static, static + spent.sum(axis=1)
    values = np.column_stack([*found.values()]) if found else np.zeros((len(spent), 0))
    return PowerGauges([process for process, _ in found], [name for _, name in found], values)


def _name_places(machine: Machine) -> list[str]:
    """The name of each node, then of each link."""
    return [*machine.node_name, *machine.station_name[: machine.edge_count]]


def _sum_columns(values: np.ndarray, keys: list[tuple[str, str]]) -> dict[tuple[str, str], np.ndarray]:
    """float64[bin] the sum of the columns of each key."""
    found: dict[tuple[str, str], np.ndarray] = {}
    for at, key in enumerate(keys):
        found[key] = found.get(key, 0.0) + values[:, at]
    return found
