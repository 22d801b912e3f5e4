"""One load of a latency–load curve: a run from an empty network, of whose packets those begun in the window are measured.

Every packet is carried to its end. Queues never fill, so all packets arrive in the end, at any load: what the network
accepts while the window lasts is counted beside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kernbench.errors import InputError
from kernbench.traffic.patterns import find_pattern
from kernbench.traffic.run import run_flows
from kernbench.traffic.zero_load_latency import alone_fs, slot_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    from kernbench.machine.machine import Machine
    from kernbench.traffic.injection_process import Offer


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """What was measured at one load. Loads are fractions of what the endpoints that send can inject."""

    load: float
    accepted: float  # flits of packets that came to their ends during the window
    packets: int  # begun in the window: those that are measured
    alone_ns: float  # mean latency of these packets, had each been alone in the network
    latency_ns: float  # mean, from the wish to send to the last byte
    p50_ns: float
    p99_ns: float
    max_ns: float
    makespan_ns: float
    flit_hops: int
    wall_s: float


def measure_load(machine: Machine, offer: Offer, load: float, mode: str) -> LoadPoint:
    """Run one load. Errors: InputError as `Offer.packets`, and for a window in which no packet begins."""
    packets, slot = offer.packets(machine, load), slot_fs(machine)
    begin_fs, end_fs = offer.warm_up * slot, (offer.warm_up + offer.window) * slot
    measured = (packets.start_fs >= begin_fs) & (packets.start_fs < end_fs)
    if not measured.any():
        raise InputError(
            f"at load {load:g} no packet begins in a window of {offer.window} flit times; give a longer window"
        )
    result = run_flows(machine, packets, mode)
    landed = int(np.count_nonzero((result.end_fs >= begin_fs) & (result.end_fs < end_fs)))
    _, senders = find_pattern(offer.pattern, machine)
    latency_ns = result.latency_fs[measured] / FS_PER_NS
    p50, p99 = np.quantile(latency_ns, (0.5, 0.99), method="inverted_cdf")
    return LoadPoint(
        load=load,
        accepted=landed * offer.packet_flits / (len(senders) * offer.window),
        packets=len(latency_ns),
        alone_ns=float(alone_fs(machine, result.hops[measured], offer.packet_flits).mean()) / FS_PER_NS,
        latency_ns=float(latency_ns.mean()),
        p50_ns=float(p50),
        p99_ns=float(p99),
        max_ns=float(latency_ns.max()),
        makespan_ns=result.makespan_ns,
        flit_hops=result.flit_hops,
        wall_s=result.wall_s,
    )
