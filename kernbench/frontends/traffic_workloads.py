"""Traffic as workloads: patterns on a bare network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

from kernbench.errors import InputError, suggest
from kernbench.frontends import traffic
from kernbench.frontends.bench_workloads import refuse_bounds
from kernbench.frontends.frontend import Name, Values, Workload, refuse_family
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Section, Shown
from kernbench.runs.result import RunResult
from kernbench.schema.scalars import Scalar, read_parameter
from kernbench.text_table import TextTable
from kernbench.traffic.pattern_run import PatternParameters, PatternResult, run_pattern
from kernbench.traffic.patterns import PATTERNS
from kernbench.units import unit_of

_COLUMNS = {"field": "parameter", "default": "default", "allowed": "may be"}


@dataclass(frozen=True, slots=True)
class PatternWorkload(Workload):
    """The traffic of a pattern."""

    of: PatternParameters

    record = traffic.FRONT_END

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.of.pattern

    @property
    def source(self) -> None:
        """As of `Workload`."""

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """As of `Workload`."""
        return asdict(self.of)

    def read(self, name: str, value: object) -> Scalar:
        """As of `Workload`."""
        known = self.parameters
        if name not in known:
            raise InputError(f"pattern {self.name!r} has no parameter {name!r}{suggest(name, known)}")
        read = read_parameter(f"parameter {name!r} of pattern {self.name!r}", known[name], value, unit_of(name))
        try:
            replace(self.of, **{name: read})
        except InputError as error:
            raise InputError(f"parameter {name!r} of pattern {self.name!r}: {error}") from None
        return read

    def refuse_mode(self, mode: str) -> str | None:
        """As of `Workload`."""
        refusal = refuse_bounds(mode, "traffic of a pattern")
        return refusal and refusal.replace("benches of family 'sip'", "benches")

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("patterns of traffic", "mesh", topology, family, self.machine)

    def describe(self) -> Shown:
        """As of `Workload`."""
        said = (PATTERNS[self.name].__doc__ or "").partition("\n")[0]
        rows = [row for row in self.parameter_rows() if row["field"] != "pattern"]
        data = {"name": self.name, "kind": self.record.kind, "description": said, "fields": rows}
        remarks = [
            f"kernbench probe --pattern {self.name} --topology {self.machine} sends it, kernbench sweep {self.name} varies it"
        ]
        return Shown(self.name, self.record.title, said, "docs/networks.md", [Section("", rows, _COLUMNS)], data,
                     remarks=remarks)  # fmt: skip

    def prepare(self, request: Request) -> Prepared:
        """Errors: InputError, since no program runs."""
        del request
        raise InputError(
            f"{self.name!r} is a pattern of traffic, without a program to run; kernbench probe --pattern {self.name} sends it, "
            f"and kernbench sweep {self.name} varies it"
        )

    def run_point(self, request: Request) -> PatternResult:
        """As of `Workload`."""
        options = request.options
        return run_pattern(
            request.machine,
            PatternParameters(**request.parameters),  # type: ignore[arg-type]  # of the types of its defaults
            options.mode,
            overrides=request.fields,
            time_limit=options.limits.time_s,
            on_stage=options.stage,
            on_progress=options.on_progress,
        )

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`: empty, because traffic is swept alone."""
        del result
        return []


def find(name: Name, values: Values) -> PatternWorkload:
    """A pattern by name. Errors: InputError for an unknown one."""
    del values
    return PatternWorkload(PatternParameters(str(name)))
