"""Workloads of a sweep: what runs at its points, with parameters and their defaults; and the front-ends they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kernbench.sweep.grid.axis import Value
from kernbench.sweep.row import COLUMNS

if TYPE_CHECKING:
    from pathlib import Path

    from kernbench.schema.model import Model
    from kernbench.sweep.grid.grid import Grid
    from kernbench.sweep.point import Point


class Workload(Protocol):
    """What runs at all points of a sweep."""

    @property
    def front_end(self) -> str:
        """The name of its front-end, for `Point.front_end`."""
        ...

    @property
    def name(self) -> str:
        """What it is called in sentences, and a part of every key."""
        ...

    @property
    def bench(self) -> str | None:
        """How any process finds it, for `Point.bench`; None for the traffic of a pattern."""
        ...

    @property
    def parameters(self) -> Mapping[str, Value]:
        """The parameters by name, with their defaults."""
        ...

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of its files by what a user calls it; none if it has no files."""
        ...

    @property
    def files(self) -> Sequence[Path]:
        """The Python files that it may run; shipped ones may be left out."""
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


def find_clashes(workload: Workload, grid: Grid) -> Iterator[str]:
    """The parameters of a bench that would be columns of the table twice, a sentence each."""
    for name in sorted(set(workload.parameters) & set(COLUMNS)):
        yield f"{grid.marks['bench']}: the bench's parameter {name!r} has the name of a result column; rename it"


def family_of(topology: Model) -> str:
    """The family of a checked topology."""
    return str(getattr(topology, "family", ""))


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A kind of workload, such as a programming system: it finds what a grid names, and runs points of it.

    `find` returns None if what the grid names is of another front-end. `run` returns what has the attributes of a RunResult;
    those that it lacks are null in the table. `small` is a grid of little work, after which all that a point needs is imported
    and compiled. Errors: InputError of `find`, KernBenchError of `run`.
    """

    name: str
    find: Callable[[Grid], Workload | None]
    run: Callable[[Point], object]
    small: Mapping[str, object]
    shares: bool = (
        False  # points that differ in figures of the topology alone share work (`execution.shared_structure`)
    )
