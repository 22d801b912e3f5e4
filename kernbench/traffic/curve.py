"""The latency–load curve: mean and worst latency of packets as the load grows.

Saturation is the load at which the mean latency reaches three times the zero-load latency, interpolated linearly between
two measured loads. Beyond it the latency depends on the length of the window only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kernbench.machine.families.mesh.places import MeshPlaces
from kernbench.notebook import html_table
from kernbench.text import plural
from kernbench.traffic.load_point import LoadPoint, measure_load
from kernbench.traffic.zero_load_latency import flit_time_fs
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine
    from kernbench.traffic.injection_process import InjectionProcess

SATURATED = 3.0  # times the zero-load latency


@dataclass(frozen=True, slots=True, repr=False)
class Curve:
    """The latency–load curve of an injection process."""

    topology: str
    size: str  # columns x rows
    mode: str
    injection: InjectionProcess
    warm_up_ns: float
    window_ns: float
    zero_load_ns: float  # mean zero-load latency of the packets of the heaviest load
    saturation_load: float | None  # None if not reached; the least load if that is beyond saturation
    points: tuple[LoadPoint, ...]  # in the order of their loads

    def __repr__(self) -> str:
        saturated = "not saturated" if self.saturation_load is None else f"saturated at load {self.saturation_load:.3f}"
        what = f"{self.injection.pattern} traffic on {self.topology}, {plural(len(self.points), 'load')}"
        return f"<Curve of {what}: {saturated}; .table(), .points>"

    def _repr_html_(self) -> str:
        shown = {"load": "g", "accepted": ".3f", "latency_ns": ",.1f", "p99_ns": ",.1f"}
        rows = [[format(point.figures()[name], form) for name, form in shown.items()] for point in self.points]
        saturated = "not saturated" if self.saturation_load is None else f"saturated at load {self.saturation_load:.3f}"
        return html_table(f"{self.injection.pattern} traffic on {self.topology}", list(shown), rows, saturated)

    def table(self) -> polars.DataFrame:
        """One row for each load; the columns are the figures of `LoadPoint`, and its waits a packet if they were counted."""
        import polars

        return polars.DataFrame(
            [{**point.figures(), **(point.waits.per_packet if point.waits else {})} for point in self.points]
        )

    def to_dict(self) -> dict[str, Any]:
        """The whole curve as plain values, with sums over the points."""
        return {
            **{name: getattr(self, name) for name in ("topology", "size", "mode")},
            **asdict(self.injection),
            **{name: getattr(self, name) for name in ("warm_up_ns", "window_ns", "zero_load_ns", "saturation_load")},
            "points": [point.to_dict() for point in self.points],
            "makespan_ns": max(point.makespan_ns for point in self.points),
            "flit_hops": sum(point.flit_hops for point in self.points),
            "wall_s": sum(point.wall_s for point in self.points),
        }


def run_curve(
    machine: Machine,
    injection: InjectionProcess,
    loads: Sequence[float],
    mode: str = "hybrid",
    on_point: Callable[[LoadPoint], None] = lambda _: None,
    *,
    count_waits: bool = False,
) -> Curve:
    """Measure loads one after the other, in rising order; `on_point` is called with each point when it is measured.

    With `count_waits` each point has what flits waited for.

    Errors: InputError as `measure_load`.
    """
    points: list[LoadPoint] = []
    for load in sorted(loads):
        points.append(measure_load(machine, injection, load, mode, count_waits=count_waits))
        on_point(points[-1])
    flit_ns, places = flit_time_fs(machine) / FS_PER_NS, machine.places
    assert isinstance(places, MeshPlaces)
    return Curve(
        topology=machine.name,
        size=f"{places.w} x {places.h}",
        mode=mode,
        injection=injection,
        warm_up_ns=injection.warm_up * flit_ns,
        window_ns=injection.window * flit_ns,
        zero_load_ns=points[-1].alone_ns,
        saturation_load=find_saturation(points, points[-1].alone_ns),
        points=tuple(points),
    )


def find_saturation(points: Sequence[LoadPoint], zero_load_ns: float) -> float | None:
    """The load at which the mean latency is `SATURATED` times the zero-load latency; None if no point reaches it."""
    limit = SATURATED * zero_load_ns
    if points[0].latency_ns >= limit:
        return points[0].load
    for below, above in pairwise(points):
        if above.latency_ns >= limit:
            share = (limit - below.latency_ns) / (above.latency_ns - below.latency_ns)
            return below.load + share * (above.load - below.load)
    return None
