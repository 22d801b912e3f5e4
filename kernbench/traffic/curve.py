"""The latency–load curve: what packets take, on average and at worst, as the load grows.

Saturation is where the mean latency has come to three times that of an empty network, between two measured loads by a
straight line. Beyond it latency only says how long was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kernbench.machine.mesh_places import MeshPlaces
from kernbench.traffic.load_point import LoadPoint, measure_load
from kernbench.traffic.zero_load_latency import slot_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine
    from kernbench.traffic.injection_process import Offer

SATURATED = 3.0  # times the latency of an empty network


@dataclass(frozen=True, slots=True)
class Curve:
    """The latency–load curve of an offer."""

    topology: str
    size: str  # columns x rows
    mode: str
    offer: Offer
    warm_up_ns: float
    window_ns: float
    zero_load_ns: float  # mean latency of the packets of the heaviest load, had each been alone in the network
    saturation_load: float | None  # None: not reached; the least load, if that is beyond it
    points: tuple[LoadPoint, ...]  # by load

    def table(self) -> polars.DataFrame:
        """A row a load: the fields of `LoadPoint`."""
        import polars

        return polars.DataFrame([asdict(point) for point in self.points])

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, with the sums over the points."""
        plain = asdict(self)
        offer = plain.pop("offer")
        return {
            **{name: plain.pop(name) for name in ("topology", "size", "mode")},
            **offer,
            **plain,
            "makespan_ns": max(point.makespan_ns for point in self.points),
            "flit_hops": sum(point.flit_hops for point in self.points),
            "wall_s": sum(point.wall_s for point in self.points),
        }


def run_curve(
    machine: Machine,
    offer: Offer,
    loads: Sequence[float],
    mode: str = "hybrid",
    on_point: Callable[[LoadPoint], None] = lambda _: None,
) -> Curve:
    """Measure loads one after the other, in rising order; `on_point` sees each as it is done.

    Errors: InputError as `measure_load`.
    """
    points = []
    for load in sorted(loads):
        points.append(measure_load(machine, offer, load, mode))
        on_point(points[-1])
    slot_ns, places = slot_fs(machine) / FS_PER_NS, machine.places
    assert isinstance(places, MeshPlaces)
    return Curve(
        topology=machine.name,
        size=f"{places.w} x {places.h}",
        mode=mode,
        offer=offer,
        warm_up_ns=offer.warm_up * slot_ns,
        window_ns=offer.window * slot_ns,
        zero_load_ns=points[-1].alone_ns,
        saturation_load=find_saturation(points, points[-1].alone_ns),
        points=tuple(points),
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
