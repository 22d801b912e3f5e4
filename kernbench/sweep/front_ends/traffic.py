"""The front-end of traffic: the pattern of a grid, on a bare network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kernbench.errors import InputError, suggest
from kernbench.modes import EVENT_MODES, SWEEP_MODES
from kernbench.schema.scalars import read_parameter
from kernbench.sweep.execution.point_progress import report_run, report_stage
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.workload import FrontEnd, family_of
from kernbench.units import unit_of

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.schema.model import Model
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point
    from kernbench.traffic.pattern_run import PatternParameters


@dataclass(frozen=True, slots=True)
class PatternWorkload:
    """The traffic of a pattern."""

    defaults: PatternParameters

    @property
    def front_end(self) -> str:
        """As of `Workload`."""
        return FRONT_END.name

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.defaults.pattern

    @property
    def bench(self) -> None:
        """As of `Workload`."""

    @property
    def parameters(self) -> Mapping[str, Value]:
        """As of `Workload`."""
        return asdict(self.defaults)

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`: what sends the packets is a part of KernBench."""
        return {}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`."""
        return ()

    def read(self, name: str, value: Value) -> Value:
        """As of `Workload`."""
        known = self.parameters
        if name not in known:
            raise InputError(f"pattern {self.name!r} has no parameter {name!r}{suggest(name, known)}")
        read = read_parameter(f"parameter {name!r} of pattern {self.name!r}", known[name], value, unit_of(name))
        try:
            replace(self.defaults, **{name: read})
        except InputError as error:
            raise InputError(f"parameter {name!r} of pattern {self.name!r}: {error}") from None
        return read

    def problems(self, grid: Grid) -> Iterator[str]:
        """As of `Workload`."""
        if grid.mode in SWEEP_MODES and grid.mode not in EVENT_MODES:
            yield f"{grid.marks['mode']}: mode {grid.mode} bounds benches; give hybrid or flit for traffic of a pattern"

    def refuse(self, grid: Grid, topology: Model) -> str | None:
        """As of `Workload`."""
        if (family := family_of(topology)) == "mesh":
            return None
        return (
            f"a pattern needs the nodes of a mesh, and topology {grid.topology!r} is of family {family!r}; "
            "give one of family 'mesh', such as mesh_8x8"
        )


def _find(grid: Grid) -> PatternWorkload | None:
    if grid.bench is not None:
        return None
    from kernbench.traffic.pattern_run import PatternParameters

    return PatternWorkload(PatternParameters(str(grid.pattern)))


def _run(point: Point) -> object:
    from kernbench.traffic.pattern_run import PatternParameters, run_pattern

    return run_pattern(
        point.topology,
        PatternParameters(**point.parameters),  # type: ignore[arg-type]  # of the types of its defaults
        point.mode,
        overrides=point.overrides,
        time_limit=point.limits.time_s,
        on_stage=partial(report_stage, point.index),
        on_progress=partial(report_run, point.index),
    )


_SMALL = {"pattern": "uniform", "topology": "mesh_8x8", "parameters": {"window": 100}}
FRONT_END = FrontEnd("traffic", _find, _run, _SMALL)
