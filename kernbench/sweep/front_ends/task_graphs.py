"""The front-end of benches of task graphs: files of `benches/pto`, by name or path.

Parameters are `case`, `runtime` and those of the cases that the grid may choose. One that has no axis and differs between these
cases is shown as "", which is each case's own value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.errors import InputError, suggest
from kernbench.modes import EVENT_MODES, SWEEP_MODES
from kernbench.schema.scalars import read_parameter
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.workload import FrontEnd, family_of, find_clashes
from kernbench.units import unit_of

if TYPE_CHECKING:
    from kernbench.pto.bench import PtoBench
    from kernbench.schema.model import Model
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point

CASE, RUNTIME, OF_CASE = "case", "runtime", ""
NS_PER_US = 1e3


@dataclass(frozen=True, slots=True)
class TaskGraphWorkload:
    """A bench of task graphs, the cases that the grid may choose, and how the grid names the bench."""

    of: PtoBench
    cases: tuple[str, ...]
    given: str

    @property
    def front_end(self) -> str:
        """As of `Workload`."""
        return FRONT_END.name

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.of.name

    @property
    def bench(self) -> str:
        """As of `Workload`."""
        return str(self.of.file)

    @property
    def parameters(self) -> Mapping[str, Value]:
        """As of `Workload`."""
        runtime = str(self.of.runtime.get("runtime", "tensormap_and_ringbuffer"))
        return {CASE: self.cases[0], RUNTIME: runtime, **{name: self._default(name) for name in self._names}}

    @property
    def _names(self) -> list[str]:
        return list({name: None for case in self.cases for name in self.of.cases[case]})

    def _default(self, name: str) -> Value:
        values = [self.of.cases[case].get(name, OF_CASE) for case in self.cases]
        return values[0] if all(value == values[0] for value in values) else OF_CASE

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`."""
        digest = hashlib.sha256()
        for path in self.of.sources:
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
        return {f"bench {self.given}": digest.hexdigest()}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`."""
        return self.of.sources

    def read(self, name: str, value: Value) -> Value:
        """As of `Workload`."""
        if name not in self.parameters:
            raise InputError(f"bench {self.name!r} has no parameter {name!r}{suggest(name, self.parameters)}")
        if name == CASE:
            self.of.parameters(str(value), {})
        elif name == RUNTIME:
            from kernbench.pto.declarations import find_backend

            find_backend(str(value))
        elif value != OF_CASE:
            from kernbench.pto.declarations import check_settable

            like = next(self.of.cases[case][name] for case in self.cases if name in self.of.cases[case])
            check_settable(name, like, self.name)
            return read_parameter(f"parameter {name!r} of bench {self.name!r}", like, value, unit_of(name))
        return value

    def problems(self, grid: Grid) -> Iterator[str]:
        """As of `Workload`."""
        yield from find_clashes(self, grid)
        if grid.mode in SWEEP_MODES and grid.mode not in EVENT_MODES:
            yield f"{grid.marks['mode']}: mode {grid.mode} bounds benches of family 'sip'; give hybrid or flit for task graphs"

    def refuse(self, grid: Grid, topology: Model) -> str | None:
        """As of `Workload`."""
        if (family := family_of(topology)) == "ascend":
            return None
        return (
            f"task graphs run on family 'ascend', and topology {grid.topology!r} is of family {family!r}; give one such as "
            "ascend_910b2"
        )


@dataclass(frozen=True, slots=True)
class TaskGraphResult:
    """The result of a point; `pe_exec_ns` is the span of the kernels."""

    latency_ns: float
    pe_exec_ns: float
    bottleneck: str | None
    bottleneck_part: str | None
    bottleneck_utilisation: float
    wall_s: float


def _find(grid: Grid) -> TaskGraphWorkload | None:
    if grid.bench is None or not is_task_graph(grid.bench):
        return None
    from kernbench.pto.bench import find_bench

    found = find_bench(grid.bench)
    axes = {axis.name: axis.values for axis in grid.axes}
    cases = tuple(dict.fromkeys(str(value) for value in axes.get(CASE, (found.default_case,))))
    known = tuple(case for case in cases if case in found.cases)
    return TaskGraphWorkload(found, known or (found.default_case,), grid.bench)


def is_task_graph(name: str) -> bool:
    """Whether a bench is one of `benches/pto`, or a path of such a file or folder."""
    from kernbench import library
    from kernbench.pto.bench import FOLDER, looks_like_bench

    if library.is_path(name):
        return looks_like_bench(Path(name))
    return name.removesuffix(".py") in library.list_names(FOLDER)


def _run(point: Point) -> TaskGraphResult:
    from kernbench.pto.bench import run_bench
    from kernbench.pto.results.summary import summarise

    assert point.bench is not None
    own = {name: value for name, value in point.parameters.items() if value != OF_CASE}
    case, runtime = str(own.pop(CASE)), str(own.pop(RUNTIME))
    given = {name: str(value) for name, value in own.items()}
    run = run_bench(
        point.bench, point.topology, case=case, parameters=given, overrides=point.overrides, backend=runtime,
        mode=point.mode, verify=False,
    )  # fmt: skip
    summary, busiest = summarise(run.outcome), run.outcome.usage.bottleneck
    return TaskGraphResult(
        NS_PER_US * summary.run_us,
        NS_PER_US * summary.span_us,
        busiest and busiest.kind,
        busiest and busiest.part,
        busiest.utilisation if busiest else 0.0,
        run.outcome.wall_s,
    )


_SMALL = {"bench": "vector_example", "topology": "ascend_tiny", "parameters": {"case": "Small", "rows": 4}}
FRONT_END = FrontEnd("task-graph", _find, _run, _SMALL)
