"""The front-end of benches: functions under `@bench` whose kernels run on PEs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kernbench.python_text import Written
from kernbench.sweep.execution.point_progress import report_run, report_stage
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.workload import FrontEnd, family_of, find_clashes

if TYPE_CHECKING:
    from kernbench.runs.bench import Bench
    from kernbench.schema.model import Model
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point


@dataclass(frozen=True, slots=True)
class BenchWorkload:
    """A bench; `given` is how the grid names it."""

    of: Bench
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
        return f"{self.of.file}:{self.of.name}"

    @property
    def parameters(self) -> Mapping[str, Value]:
        """As of `Workload`."""
        return self.of.parameters

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`."""
        return {f"bench {self.given}": _bench_digest(Path(self.of.file).read_bytes())}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`."""
        return self.of.files

    def read(self, name: str, value: Value) -> Value:
        """As of `Workload`."""
        from kernbench.runs.bench import typed_parameters

        return typed_parameters(self.of, {name: value})[name]

    def problems(self, grid: Grid) -> Iterator[str]:
        """As of `Workload`."""
        yield from find_clashes(self, grid)
        for name, default in self.of.parameters.items():
            if isinstance(default, Written):
                yield (
                    f"{self.of.place}: the default of parameter {name!r} is {default}, which only running the bench gives; "
                    "--try runs it"
                )

    def refuse(self, grid: Grid, topology: Model) -> str | None:
        """As of `Workload`."""
        family = family_of(topology)
        if family == "mesh":
            return (
                f"topology {grid.topology!r} is of family 'mesh', a bare network without PEs to run a bench on; "
                "give one of family 'sip', or a pattern in place of the bench"
            )
        from kernbench.runs.bench_family import refuse_family

        return refuse_family(self.of, grid.topology, family)


def _find(grid: Grid) -> BenchWorkload:
    from kernbench.runs.bench import find_bench

    assert grid.bench is not None
    return BenchWorkload(find_bench(grid.bench), grid.bench)


def run_bench_point(point: Point) -> object:
    """Run a bench at a point; a `RunResult`. Errors: KernBenchError."""
    from kernbench.runs.run import run_bench

    assert point.bench is not None
    return run_bench(
        point.bench,
        point.topology,
        mode=point.mode,
        parameters=point.parameters,
        overrides=point.overrides,
        time_limit=point.limits.time_s,
        op_limit=point.limits.ops,
        on_stage=partial(report_stage, point.index),
        on_progress=partial(report_run, point.index),
    )


def _bench_digest(source: bytes) -> str:
    """The digest of a bench's source, and of the algorithms and settings of collectives if it may use them."""
    digest = hashlib.sha256(source)
    if b"distributed" in source:
        from kernbench.ccl.config import list_files

        for path in list_files():
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()


_SMALL = {
    "bench": "gemm-single-pe",
    "topology": "tiny",
    "parameters": {"M": 32, "topology.noc.gbs": [128.0, 256.0]},  # points that share a structure
}
FRONT_END = FrontEnd("bench", _find, run_bench_point, _SMALL, shares=True)
