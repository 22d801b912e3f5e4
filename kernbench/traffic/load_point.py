"""One point of a latency–load curve: run one load from an empty network and measure the packets begun in the window.

Every packet is simulated to its end: queues of sources are unbounded, so at any load all packets arrive. The flits that the
network delivers during the window are counted separately, as the accepted load.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError
from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.run import run_alone, run_flows
from kernbench.traffic.zero_load_latency import count_mesh_hops, flit_time_fs, zero_load_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.engine.network_waits import NetworkWaits
    from kernbench.limits.run_options import OnProgress
    from kernbench.machine.machine import Machine
    from kernbench.traffic.injection_process import InjectionProcess


@dataclass(frozen=True, slots=True)
class LoadWaits:
    """What flits waited for in the run of a load, those of the warm-up too."""

    packets: int  # of the run
    network: NetworkWaits

    @property
    def per_packet(self) -> dict[str, float]:
        """Each cause, as `<cause>_ns`: the mean over packets of the sum over flits (ns)."""
        return {f"{cause}_ns": ns / self.packets for cause, ns in self.network.total_ns.items()}

    def to_dict(self) -> dict[str, Any]:
        """Plain values: `packets`, `per_packet`, and those of `NetworkWaits`."""
        return {"packets": self.packets, "per_packet": self.per_packet, **self.network.to_dict()}


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """The measurements at one load. Loads are fractions of what the sending endpoints can inject."""

    load: float
    accepted: float  # flits of packets delivered during the window
    packets: int  # measured: begun in the window
    alone_ns: float  # mean zero-load latency of these packets
    latency_ns: float  # mean, from the start asked for to the last byte, or to its acknowledgement
    p50_ns: float
    p99_ns: float
    max_ns: float
    makespan_ns: float
    flit_hops: int
    wall_s: float
    waits: LoadWaits | None = None  # None: not counted
    energy: Mapping[str, Any] | None = None  # as of `FlowResult`

    def figures(self) -> dict[str, Any]:
        """All but `waits` and `energy`."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name not in ("waits", "energy")}

    def to_dict(self) -> dict[str, Any]:
        """The point as plain values; what flits waited for as `network`."""
        return {
            **self.figures(),
            **(self.energy or {}),
            **({} if self.waits is None else {"network": self.waits.to_dict()}),
        }


def measure_load(
    machine: Machine,
    injection: InjectionProcess,
    load: float,
    mode: str,
    on_progress: OnProgress | None = None,
    *,
    count_waits: bool = False,
) -> LoadPoint:
    """Run one load; `on_progress` and `count_waits` are as of `run_flows`.

    Errors: InputError as `InjectionProcess.packets` and `run_flows`, and for a window in which no packet begins.
    """
    packets, flit_fs = injection.packets(machine, load), flit_time_fs(machine)
    begin_fs, end_fs = injection.warm_up * flit_fs, (injection.warm_up + injection.window) * flit_fs
    measured = (packets.start_fs >= begin_fs) & (packets.start_fs < end_fs)
    if not measured.any():
        raise InputError(
            f"at load {load:g} no packet begins in a window of {injection.window} flit times; give a longer window"
        )
    result = run_flows(machine, packets, mode, on_progress, count_waits=count_waits)
    delivered = int(np.count_nonzero((result.arrival_fs >= begin_fs) & (result.arrival_fs < end_fs)))
    latency_ns = result.latency_fs[measured] / FS_PER_NS
    alone_fs = find_alone_fs(machine, packets.src[measured], packets.dst[measured], injection.packet_flits)
    p50, p99 = np.quantile(latency_ns, (0.5, 0.99), method="inverted_cdf")
    return LoadPoint(
        load=load,
        accepted=delivered * injection.packet_flits / (len(packets.names) * injection.window),
        packets=len(latency_ns),
        alone_ns=float(alone_fs.mean()) / FS_PER_NS,
        latency_ns=float(latency_ns.mean()),
        p50_ns=float(p50),
        p99_ns=float(p99),
        max_ns=float(latency_ns.max()),
        makespan_ns=result.makespan_ns,
        flit_hops=result.flit_hops,
        wall_s=result.wall_s,
        waits=LoadWaits(len(packets), result.network) if result.network else None,
        energy=result.energy,
    )


def find_alone_fs(machine: Machine, src: np.ndarray, dst: np.ndarray, flits: int) -> np.ndarray:
    """int64[n] the zero-load latency of packets of so many flits, between nodes int64[n].

    With credits, the packets of each number of hops take as long as one of them that is run alone.
    """
    if machine.flow_control is None:
        return zero_load_fs(machine, src, dst, flits)
    places = machine.places
    assert isinstance(places, MeshPlaces)
    _, first, which = np.unique(count_mesh_hops(places.mesh, src, dst), return_index=True, return_inverse=True)
    ends = zip(src[first].tolist(), dst[first].tolist(), strict=True)
    alone = [parse_flows([f"{a}:{b}:{flits * machine.flit_bytes}"]) for a, b in ends]
    return np.array([run_alone(machine, flow).latency_fs[0] for flow in alone], np.int64)[which]
