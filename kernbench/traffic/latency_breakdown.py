"""What one flow takes on an idle machine, in closed form and by its causes.

    wire            propagation along every link: out, and home for an acknowledgement or a read's request
    overhead        what the parts on the way and the one that issues charge, once each
    serialisation   the first flit through every link, then the rest of the bytes at the pace of the slowest station
    commit          the first flit in the memory

A part that stores and forwards begins the serialisation anew. This knows nothing of the engine and agrees with it to the
tick where flits are whole and the slowest station comes after the overheads. Otherwise the engine may be a little faster
than the sum: an overhead holds up the first flit alone, and later flits that come slowly anyway do not notice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.uncontended_latency import find_passage
from kernbench.traffic.flow_routing import Agent, Way
from kernbench.traffic.lower import PE_LEAD
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class Formula:
    """The parts of a flow's time, and the station that sets its pace."""

    wire_fs: int
    overhead_fs: int
    serialisation_fs: int
    commit_fs: int
    bottleneck: str  # a link, or the memory
    bottleneck_gbs: float
    catches_up: bool  # some overhead comes after the slowest station, so that later flits do not feel it

    @property
    def total_fs(self) -> int:
        """The sum of the parts."""
        return self.wire_fs + self.overhead_fs + self.serialisation_fs + self.commit_fs


def predict_flow(machine: Machine, way: Way, nbytes: int) -> Formula:
    """The closed form of a flow of at least one byte."""
    passage = find_passage(machine, way.route, nbytes)
    of_link = passage.station < machine.edge_count
    slowest = int(np.argmax(passage.pace_fs))
    return Formula(
        wire_fs=passage.wire_fs + way.request_fs,
        overhead_fs=int(passage.overhead_fs.sum()) + _issue_fs(machine, way),
        serialisation_fs=int(passage.first_fs[of_link].sum() + passage.rest_fs.sum()),
        commit_fs=int(passage.first_fs[~of_link].sum()),
        bottleneck=_name(machine, int(passage.station[slowest])),
        bottleneck_gbs=machine.flit_bytes * FS_PER_NS / float(passage.pace_fs[slowest]),
        catches_up=_catches_up(passage.pace_fs, passage.overhead_fs),
    )


def _catches_up(pace: np.ndarray, overhead_fs: np.ndarray) -> bool:
    """Whether behind some overhead (float64[step] pace, int64[step]) all stations are faster than one before it."""
    slowest_behind = np.maximum.accumulate(pace[::-1])[::-1]
    charged = np.flatnonzero(overhead_fs[1:]) + 1
    return bool((np.maximum.accumulate(pace)[charged - 1] > slowest_behind[charged]).any())


def _issue_fs(machine: Machine, way: Way) -> int:
    """What the issuer does before the first byte."""
    if way.agent == Agent.PE:
        return round(sum(machine.figures[figure] * amount for figure, amount in PE_LEAD))
    if way.agent == Agent.CPU:
        return round(machine.figures[f"{machine.node_kind[way.issuer]}.overhead"])
    return 0


def _name(machine: Machine, station: int) -> str:
    """A link by its ends, a memory by its node."""
    if station < machine.edge_count:
        return machine.station_name[station]
    node = next(node for node, terminal in machine.terminals.items() if terminal.first_station == station)
    return machine.node_name[node]
