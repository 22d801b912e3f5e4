"""Workloads of a sweep: what runs at its points, a bench or the traffic of a pattern, with parameters and their defaults."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from kernbench.errors import InputError, suggest
from kernbench.modes import EVENT_MODES, SWEEP_MODES
from kernbench.schema.scalars import read_parameter
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Grid
from kernbench.sweep.row import COLUMNS

if TYPE_CHECKING:
    from kernbench.runs.bench import Bench
    from kernbench.schema.model import Model
    from kernbench.traffic.pattern_run import PatternParameters


class Workload(Protocol):
    """What runs at all points of a sweep."""

    @property
    def name(self) -> str:
        """What it is called in sentences, and a part of every key."""
        ...

    @property
    def bench(self) -> str | None:
        """Of a bench the path and name by which any process finds it, for `Point.bench`."""
        ...

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters by name, with their defaults."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """Digests of its files, by what a user calls them."""
        ...

    def read(self, name: str, value: Value) -> Value:
        """The value of a parameter, as the type of its default. Errors: InputError."""
        ...

    def problems(self, grid: Grid) -> Iterator[str]:
        """What is wrong with it on any machine, a sentence each with its place."""
        ...

    def refuse(self, grid: Grid, topology: Model) -> str | None:
        """Why it cannot run on a machine of a topology, if so."""
        ...


def find_workload(grid: Grid) -> Workload:
    """The workload of a grid. Errors: InputError for an unknown bench or pattern."""
    if grid.bench is None:
        from kernbench.traffic.pattern_run import PatternParameters

        return PatternWorkload(PatternParameters(str(grid.pattern)))
    from kernbench.runs.bench import find_bench

    return BenchWorkload(find_bench(grid.bench), grid.bench)


@dataclass(frozen=True, slots=True)
class BenchWorkload:
    """A bench; `given` is how the grid names it."""

    of: Bench
    given: str

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

    def read(self, name: str, value: Value) -> Value:
        """As of `Workload`."""
        from kernbench.runs.bench import typed_parameters

        return typed_parameters(self.of, {name: value})[name]

    def problems(self, grid: Grid) -> Iterator[str]:
        """As of `Workload`."""
        for name in sorted(set(self.parameters) & set(COLUMNS)):
            yield f"{grid.marks['bench']}: the bench's parameter {name!r} has the name of a result column; rename it"

    def refuse(self, grid: Grid, topology: Model) -> str | None:
        """As of `Workload`."""
        if not _is_mesh(topology):
            return None
        return (
            f"topology {grid.topology!r} is of family 'mesh', a bare network without PEs to run a bench on; "
            "give one of family 'sip', or a pattern in place of the bench"
        )


@dataclass(frozen=True, slots=True)
class PatternWorkload:
    """The traffic of a pattern."""

    defaults: PatternParameters

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

    def read(self, name: str, value: Value) -> Value:
        """As of `Workload`."""
        known = self.parameters
        if name not in known:
            raise InputError(f"pattern {self.name!r} has no parameter {name!r}{suggest(name, known)}")
        read = read_parameter(f"parameter {name!r} of pattern {self.name!r}", known[name], value)
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
        if _is_mesh(topology):
            return None
        family = getattr(topology, "family", None)
        return (
            f"a pattern needs the nodes of a mesh, and topology {grid.topology!r} is of family {family!r}; "
            "give one of family 'mesh', such as mesh_8x8"
        )


def _is_mesh(topology: Model) -> bool:
    from kernbench.machine.mesh import MeshSpec

    return isinstance(topology, MeshSpec)


def _bench_digest(source: bytes) -> str:
    """The digest of a bench's source, and of the algorithms and settings of collectives if it may use them."""
    digest = hashlib.sha256(source)
    if b"distributed" in source:
        from kernbench.ccl.config import list_files

        for path in list_files():
            digest.update(f"{path.name}\n".encode() + path.read_bytes())
    return digest.hexdigest()
