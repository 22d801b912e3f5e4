"""The latency–load curve: what packets take, on average and at worst, as the load grows.

Each load is a run of its own from an empty network: a warm-up, then a window whose packets are measured, then as much
traffic again as the warm-up, so that the last of them do not find the network empty. Every packet is carried to its end.

Saturation is where the mean latency has come to three times that of an empty network, between two measured loads by a
straight line. With queues that never fill, all packets arrive in the end: what the network accepts while the window
lasts is shown beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from kernbench.errors import InputError
from kernbench.traffic.alone import alone_fs, slot_fs
from kernbench.traffic.bernoulli import send_packets
from kernbench.traffic.patterns import find_pattern
from kernbench.traffic.run import FlowResult, run_flows
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine

SATURATED = 3.0  # times the latency of an empty network
WINDOW = 10_000  # flit times
MOST_PACKETS = 5_000_000  # of one load: about 2 GB of flows and rows


@dataclass(frozen=True, slots=True)
class LoadPoint:
    """What was measured at one load. Loads are fractions of what the endpoints that send can inject."""

    load: float
    accepted: float  # flits that came to their ends during the window
    packets: int  # begun in the window: those that are measured
    alone_ns: float  # mean latency of these packets, had each been alone in the network
    latency_ns: float  # mean, from the wish to send to the last byte
    p50_ns: float
    p99_ns: float
    max_ns: float
    makespan_ns: float
    flit_hops: int
    wall_s: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The latency–load curve of a pattern."""

    topology: str
    mode: str
    pattern: str
    packet_flits: int
    seed: int
    warm_up_ns: float
    window_ns: float
    zero_load_ns: float  # mean latency of the packets of the heaviest load, had each been alone in the network
    saturation_load: float | None  # None: not reached
    points: tuple[LoadPoint, ...]

    def table(self) -> polars.DataFrame:
        """A row a load: the fields of `LoadPoint`."""
        import polars

        return polars.DataFrame([asdict(point) for point in self.points])

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, with the sums over the points."""
        return {
            **asdict(self),
            "points": [asdict(point) for point in self.points],
            "makespan_ns": max(point.makespan_ns for point in self.points),
            "flit_hops": sum(point.flit_hops for point in self.points),
            "wall_s": sum(point.wall_s for point in self.points),
        }


def run_curve(
    machine: Machine,
    pattern: str,
    loads: Sequence[float],
    *,
    packet_flits: int = 1,
    seed: int = 0,
    window: int = WINDOW,
    mode: str = "hybrid",
    on_point: Callable[[LoadPoint], None] = lambda _: None,
) -> Curve:
    """Measure the loads one after the other, in rising order. Errors: InputError for a load outside (0, 1] or a misfit."""
    _check(loads, packet_flits, window)
    _, senders = find_pattern(pattern, machine)
    warm_up, slot_ns = window // 2, slot_fs(machine) / FS_PER_NS
    points = []
    for load in sorted(loads):
        expected = load / packet_flits * len(senders) * (window + 2 * warm_up)
        if expected > MOST_PACKETS:
            raise InputError(
                f"load {load:g} on {machine.name} makes about {expected:.2g} packets, more than {MOST_PACKETS:.0e} at once; "
                f"give a window shorter than {window} flit times"
            )
        packets = send_packets(machine, pattern, load, packet_flits, window + 2 * warm_up, seed)
        result = run_flows(machine, packets, mode)
        points.append(_measure(machine, load, result, packet_flits, warm_up, window, len(senders)))
        on_point(points[-1])
    return Curve(
        topology=machine.name,
        mode=mode,
        pattern=pattern,
        packet_flits=packet_flits,
        seed=seed,
        warm_up_ns=warm_up * slot_ns,
        window_ns=window * slot_ns,
        zero_load_ns=points[-1].alone_ns,
        saturation_load=find_saturation(points, points[-1].alone_ns),
        points=tuple(points),
    )


def _check(loads: Sequence[float], packet_flits: int, window: int) -> None:
    for load in loads:
        if not 0 < load <= 1:
            raise InputError(
                f"got load {load:g}, expected more than 0 and 1 at most: the fraction of what an endpoint can inject"
            )
    if packet_flits < 1 or window < 2:
        raise InputError(
            f"got packets of {packet_flits} flits and a window of {window} flit times, expected at least 1 and 2"
        )


def _measure(
    machine: Machine, load: float, result: FlowResult, packet_flits: int, warm_up: int, window: int, senders: int
) -> LoadPoint:
    slot = slot_fs(machine)
    begin, end = warm_up * slot, (warm_up + window) * slot
    start_fs = result.flows.start_fs
    measured = (start_fs >= begin) & (start_fs < end)
    if not measured.any():
        raise InputError(f"at load {load:g} no packet begins in a window of {window} flit times; give a longer window")
    landed = int(np.count_nonzero((result.end_fs >= begin) & (result.end_fs < end)))
    latency_ns = result.latency_fs[measured] / FS_PER_NS
    p50, p99 = np.quantile(latency_ns, (0.5, 0.99), method="inverted_cdf")
    return LoadPoint(
        load=load,
        accepted=landed * packet_flits / (senders * window),
        packets=len(latency_ns),
        alone_ns=float(alone_fs(machine, result.hops[measured], packet_flits).mean()) / FS_PER_NS,
        latency_ns=float(latency_ns.mean()),
        p50_ns=float(p50),
        p99_ns=float(p99),
        max_ns=float(latency_ns.max()),
        makespan_ns=result.makespan_ns,
        flit_hops=result.flit_hops,
        wall_s=result.wall_s,
    )


def find_saturation(points: Sequence[LoadPoint], zero_load_ns: float) -> float | None:
    """The load at which the mean latency is `SATURATED` times that of an empty network; None if no point is there."""
    limit = SATURATED * zero_load_ns
    if points[0].latency_ns >= limit:
        return points[0].load
    for below, above in pairwise(points):
        if above.latency_ns >= limit:
            share = (limit - below.latency_ns) / (above.latency_ns - below.latency_ns)
            return below.load + share * (above.load - below.load)
    return None
