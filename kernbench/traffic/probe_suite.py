"""The probe of a machine: its catalogue of cases at a ladder of sizes, each alone on an idle machine.

Each case and size is a run of an engine of its own, so none can disturb another. What was measured stands beside what the
closed form says, and beside the bandwidth of the slowest station on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kernbench.traffic.checks import Check, check_all
from kernbench.traffic.flow_routing import Way, find_ways
from kernbench.traffic.flows import parse_flows
from kernbench.traffic.latency_breakdown import Formula, predict_flow
from kernbench.traffic.probe_cases import Case, list_cases
from kernbench.traffic.run import load_loop, run_alone
from kernbench.units import FS_PER_NS

if TYPE_CHECKING:
    import polars

    from kernbench.machine.machine import Machine

REFERENCE_BYTES = 32 << 10  # of the summary
SIZES_BYTES = tuple(1 << power for power in range(12, 21))  # 4 KiB to 1 MiB


@dataclass(frozen=True, slots=True)
class Measured:
    """One case at one size."""

    case: Case
    nbytes: int
    hops: int  # links on the way; in a mesh those between routers
    actual_fs: int
    formula: Formula
    whole_flits: bool

    @property
    def actual_ns(self) -> float:
        """From the wish to send to completion."""
        return self.actual_fs / FS_PER_NS

    @property
    def effective_gbs(self) -> float:
        """Bytes over the time they took."""
        return self.nbytes / self.actual_ns

    @property
    def utilisation(self) -> float:
        """Of the slowest station on the way, 1 at most."""
        return self.effective_gbs / self.formula.bottleneck_gbs

    def to_dict(self) -> dict[str, Any]:
        """A row of the table."""
        case, formula = self.case, self.formula
        return {
            **asdict(case),
            "flow": case.flow(self.nbytes),
            "bytes": self.nbytes,
            "hops": self.hops,
            "actual_ns": self.actual_ns,
            "formula_ns": formula.total_fs / FS_PER_NS,
            "wire_ns": formula.wire_fs / FS_PER_NS,
            "overhead_ns": formula.overhead_fs / FS_PER_NS,
            "serialisation_ns": formula.serialisation_fs / FS_PER_NS,
            "commit_ns": formula.commit_fs / FS_PER_NS,
            "effective_gbs": self.effective_gbs,
            "bottleneck_gbs": formula.bottleneck_gbs,
            "bottleneck": formula.bottleneck,
            "utilisation": self.utilisation,
        }


@dataclass(frozen=True, slots=True)
class Survey:
    """What a probe found: a measurement for each case and size, case by case, and the checks over all of them."""

    topology: str
    mode: str
    measured: tuple[Measured, ...]
    checks: tuple[Check, ...]

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
        """A row a measurement: the columns of `Measured.to_dict`."""
        import polars

        return polars.DataFrame([one.to_dict() for one in self.measured])

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "topology": self.topology,
            "mode": self.mode,
            "ok": self.ok,
            "reference_bytes": REFERENCE_BYTES,
            "checks": [asdict(check) for check in self.checks],
            "summary": [one.to_dict() for one in self.summary],
            "sweep": [one.to_dict() for one in self.measured],
        }


def run_survey(machine: Machine, mode: str = "hybrid", on_case: Callable[[Case], None] = lambda _: None) -> Survey:
    """Probe a machine; `on_case` sees each case before it runs.

    Errors: InputError for an unknown mode or a machine on which nothing can be probed.
    """
    cases = list_cases(machine)
    load_loop(machine, mode)
    measured = []
    for case in cases:
        on_case(case)
        measured += [_measure(machine, case, nbytes, mode) for nbytes in SIZES_BYTES]
    return Survey(machine.name, mode, tuple(measured), check_all(measured))


def _measure(machine: Machine, case: Case, nbytes: int, mode: str) -> Measured:
    flows = parse_flows([case.flow(nbytes)])
    result = run_alone(machine, flows, mode)
    ways, _ = find_ways(machine, flows)
    formula = predict_flow(machine, Way(*ways[0].tolist()), nbytes)
    return Measured(
        case, nbytes, int(result.hops[0]), int(result.latency_fs[0]), formula, nbytes % machine.flit_bytes == 0
    )
