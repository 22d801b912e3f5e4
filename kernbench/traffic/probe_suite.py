"""The probe of a machine: its catalogue of cases at a ladder of sizes, each alone on an idle machine.

Each case and size is a run of its own, so cases do not contend. Each measurement stands beside the closed form and the
bandwidth of the slowest station on the route.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kernbench.notebook import html_table
from kernbench.traffic.checks import Check, check_all
from kernbench.traffic.flow_routing import FlowRoute, find_flow_routes, find_waypoints
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.latency_breakdown import LatencyBreakdown, predict_flow
from kernbench.traffic.probe_cases import Case, list_cases
from kernbench.traffic.run import load_loop, run_alone
from kernbench.units import FS_PER_NS, format_bytes

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine

REFERENCE_BYTES = 32 << 10  # the size that the summary shows
SIZES_BYTES = tuple(1 << power for power in range(12, 21))  # 4 KiB to 1 MiB


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurement of one case at one size."""

    case: Case
    nbytes: int
    hops: int  # links on the route; in a mesh those between routers
    via: tuple[str, ...]  # the switch or the SIPs between the first and the last SIP
    actual_fs: int
    breakdown: LatencyBreakdown
    whole_flits: bool
    has_credits: bool  # on links

    @property
    def actual_ns(self) -> float:
        """Time from the start asked for to completion."""
        return self.actual_fs / FS_PER_NS

    @property
    def effective_gbs(self) -> float:
        """Bytes over the time they took."""
        return self.nbytes / self.actual_ns

    @property
    def utilisation(self) -> float:
        """Utilisation of the slowest station on the route, at most 1."""
        return self.effective_gbs / self.breakdown.bottleneck_gbs

    def to_dict(self) -> dict[str, Any]:
        """A row of the table."""
        case, breakdown = self.case, self.breakdown
        return {
            **asdict(case),
            "flow": case.flow(self.nbytes),
            "bytes": self.nbytes,
            "hops": self.hops,
            "via": ", ".join(self.via),
            "actual_ns": self.actual_ns,
            "formula_ns": breakdown.total_fs / FS_PER_NS,
            "wire_ns": breakdown.wire_fs / FS_PER_NS,
            "overhead_ns": breakdown.overhead_fs / FS_PER_NS,
            "routers_ns": breakdown.routers_fs / FS_PER_NS,
            "serialisation_ns": breakdown.serialisation_fs / FS_PER_NS,
            "commit_ns": breakdown.commit_fs / FS_PER_NS,
            "effective_gbs": self.effective_gbs,
            "bottleneck_gbs": breakdown.bottleneck_gbs,
            "bottleneck": breakdown.bottleneck,
            "utilisation": self.utilisation,
        }


@dataclass(frozen=True, slots=True, repr=False)
class Survey:
    """The result of a probe: a measurement for each case and size, case by case, and the checks over all of them."""

    topology: str
    mode: str
    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]

    def __repr__(self) -> str:
        held = "all invariants hold" if self.ok else f"{len(self.failed)} of {len(self.checks)} invariants fail"
        return f"<Survey of {self.topology}, {self.mode} mode: {len(self.summary)} cases, {held}; .table(), .checks>"

    def _repr_html_(self) -> str:
        rows = [
            [one.case.name, f"{one.actual_ns:,.3f}", f"{one.effective_gbs:,.1f}", f"{one.utilisation:.1%}"]
            for one in self.summary
        ]
        title = f"probe of {self.topology}, {self.mode} mode, {format_bytes(REFERENCE_BYTES)} a case"
        failed = [f"{check.name}: {check.detail}" for check in self.failed]
        return html_table(title, ["case", "ns", "GB/s", "utilisation"], rows, *failed)

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    @property
    def summary(self) -> tuple[Measured, ...]:
        """The measurements at the reference size."""
        return tuple(one for one in self.measured if one.nbytes == REFERENCE_BYTES)

    def table(self) -> polars.DataFrame:
        """One row for each measurement; the columns are those of `Measured.to_dict`."""
        import polars

        return polars.DataFrame([one.to_dict() for one in self.measured])

    def to_dict(self) -> dict[str, Any]:
        """The whole survey as plain values."""
        return {
            "topology": self.topology,
            "mode": self.mode,
            "ok": self.ok,
            "reference_bytes": REFERENCE_BYTES,
            "checks": [asdict(check) for check in self.checks],
            "summary": [one.to_dict() for one in self.summary],
            "sweep": [one.to_dict() for one in self.measured],
        }


def run_survey(machine: Machine, mode: str = "hybrid", on_case: Callable[[Case], object] = lambda _: None) -> Survey:
    """Probe a machine; `on_case` is called with each case before it runs.

    Errors: InputError for an unknown mode or a machine on which nothing can be probed.
    """
    cases = list_cases(machine)
    load_loop(machine, mode)
    measured: list[Measured] = []
    for case in cases:
        on_case(case)
        measured += [_measure(machine, case, nbytes, mode) for nbytes in SIZES_BYTES]
    return Survey(machine.name, mode, tuple(measured), check_all(measured))


def _measure(machine: Machine, case: Case, nbytes: int, mode: str) -> Measured:
    flows = parse_flows([case.flow(nbytes)])
    result = run_alone(machine, flows, mode)
    routes, _ = find_flow_routes(machine, flows)
    flow = FlowRoute(*routes[0].tolist())
    return Measured(
        case,
        nbytes,
        hops=int(result.hops[0]),
        via=tuple(find_waypoints(machine, flow.route)),
        actual_fs=int(result.latency_fs[0]),
        breakdown=predict_flow(machine, flow, nbytes),
        whole_flits=nbytes % machine.flit_bytes == 0,
        has_credits=machine.flow_control is not None,
    )
