"""Zero-load latency of one flow, in closed form and by cause.

    wire            propagation along every link: out, and home for an acknowledgement or a read's request
    overhead        the overhead of the issuer and of each part on the route, once each
    routers         pipelines and cycles of routers with credits, and the first packet of a read (see `router_latency`)
    serialisation   the first flit over every link, then the other bytes at the rate of the slowest station
    commit          the first flit into the memory

A part that stores and forwards starts the serialisation again. The form does not use the engine. Both agree to the tick if
flits are whole and the slowest station comes after the overheads. Otherwise the engine may be a little faster than the sum:
an overhead delays the first flit alone, and later flits that arrive slowly anyway are not delayed by it. With credits it may
be slower: short buffers throttle, and heads of packets may hold up the flits behind them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.machine.network.uncontended_latency import find_uncontended_latency
from kernbench.oplog.utilisation import JOINED
from kernbench.traffic.flow_routing import Agent, FlowRoute
from kernbench.traffic.lower import PE_LEAD
from kernbench.traffic.router_latency import find_router_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine


@dataclass(frozen=True, slots=True)
class LatencyBreakdown:
    """A flow's latency by cause, and its slowest station."""

    wire_fs: int
    overhead_fs: int
    routers_fs: int  # 0 without credits
    serialisation_fs: int
    commit_fs: int
    bottleneck: str  # a link, or the memory; where links of several kinds or both are as slow, the first of each
    bottleneck_gbs: float
    catches_up: bool  # an overhead comes after the slowest station, so later flits are not delayed by it

    @property
    def total_fs(self) -> int:
        """The sum over all causes."""
        return self.wire_fs + self.overhead_fs + self.routers_fs + self.serialisation_fs + self.commit_fs


def predict_flow(machine: Machine, flow: FlowRoute, nbytes: int) -> LatencyBreakdown:
    """The zero-load latency of a flow of one byte or more."""
    latency = find_uncontended_latency(machine, flow.route, nbytes)
    of_link = latency.station < machine.edge_count
    slowest = int(np.argmax(latency.pace_fs))
    issue_fs, lead_fs = _issue_fs(machine, flow), int(machine.routing.tables().lead_fs[flow.route]) + flow.request_fs
    return LatencyBreakdown(
        wire_fs=latency.wire_fs + flow.request_fs,
        overhead_fs=int(latency.overhead_fs.sum()) + issue_fs,
        routers_fs=find_router_fs(machine, latency, issue_fs + lead_fs, -(-nbytes // machine.flit_bytes)),
        serialisation_fs=int(latency.first_fs[of_link].sum() + latency.rest_fs.sum()),
        commit_fs=int(latency.first_fs[~of_link].sum()),
        bottleneck=JOINED.join(_name_limits(machine, latency.station[latency.equals_of(slowest)])),
        bottleneck_gbs=machine.flit_bytes * FS_PER_NS / float(latency.pace_fs[slowest]),
        catches_up=_catches_up(latency.pace_fs, latency.overhead_fs),
    )


def _catches_up(pace: np.ndarray, overhead_fs: np.ndarray) -> bool:
    """Whether all stations after some overhead are faster than one before it (float64[step] pace, int64[step] overhead)."""
    slowest_behind = np.maximum.accumulate(pace[::-1])[::-1]
    charged = np.flatnonzero(overhead_fs[1:]) + 1
    return bool((np.maximum.accumulate(pace)[charged - 1] > slowest_behind[charged]).any())


def _issue_fs(machine: Machine, flow: FlowRoute) -> int:
    """The time of the issuer before the first byte."""
    if flow.agent == Agent.PE:
        return round(sum(machine.figures[figure] * amount for figure, amount in PE_LEAD))
    if flow.agent == Agent.CPU:
        return round(machine.figures[f"{machine.node_kind[flow.issuer]}.overhead"])
    return 0


def _name_limits(machine: Machine, station: np.ndarray) -> list[str]:
    """The first of some stations of each kind of link, and of memories."""
    kinds = {int(machine.edge_kind[at]) if at < machine.edge_count else None: at for at in reversed(station.tolist())}
    return [_name(machine, at) for at in sorted(kinds.values(), key=station.tolist().index)]


def _name(machine: Machine, station: int) -> str:
    """The name of a link by its ends, of a memory by its node."""
    if station < machine.edge_count:
        return machine.station_name[station]
    node = next(node for node, terminal in machine.terminals.items() if terminal.first_station == station)
    return machine.node_name[node]
