"""What a kind of programs is to everything above it: a record of the kind, and of each of its programs a workload.

The record is light: the list of front-ends is read at each press of Tab. What runs is in the module that it names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kernbench.errors import InputError, shorten, suggest
from kernbench.frontends.shown import Shown, show_type, show_value
from kernbench.schema.scalars import Scalar

if TYPE_CHECKING:
    from kernbench.frontends.prepared import Prepared, Request
    from kernbench.runs.result import RunResult
    from kernbench.text_table import TextTable

Name = str | int | Path | Callable[..., object]  # of a program: a name, an index, a path, or a decorated function
Values = Mapping[str, Sequence[Scalar]]  # of parameters, those that runs may have; without one it has its default
Named = Mapping[
    str, Mapping[str, tuple[str, ...]]
]  # names of programs, each with the values its parameters are known to take
Files = list[tuple[str, Path]]  # what each file is, and where


class Checked(NamedTuple):
    """What is known of a program that was not run: a title, some lines, and all of it in JSON's types."""

    title: str
    lines: Sequence[str]
    data: Mapping[str, Any]


class Workload(ABC):
    """A program that was found by its name."""

    record: ClassVar[FrontEnd]
    trace_kinds: ClassVar[tuple[str, ...]] = ()  # that a filter of its traces may name; none: those of an op log

    @property
    def front_end(self) -> str:
        """The name of its front-end."""
        return self.record.name

    @property
    def machine(self) -> str:
        """The machine on which it runs if none is named."""
        return self.record.machine

    @property
    @abstractmethod
    def name(self) -> str:
        """Its name in sentences, and a part of the keys of points."""

    @property
    @abstractmethod
    def source(self) -> str | None:
        """How any process finds it; None: the pattern of traffic that `parameters` name."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Scalar]:
        """The parameters by name, with their defaults."""

    @property
    def noted(self) -> str | None:
        """The name under which a command finds it from any directory; None if no command can."""
        return self.source

    @property
    def digests(self) -> Mapping[str, str]:
        """The digest of its files by what a user calls it; none if it has no files."""
        return {}

    @property
    def files(self) -> Sequence[Path]:
        """The Python files that it may run; shipped ones may be left out."""
        return ()

    def read(self, name: str, value: object) -> Scalar:
        """The value of a parameter, as the type of its default. Errors: InputError."""
        del value
        raise InputError(f"{self.name} has no parameter {name!r}{suggest(name, self.parameters)}")

    def problems(self) -> Iterator[str]:
        """What is wrong with it on any machine, a sentence each."""
        yield from ()

    def refuse_mode(self, mode: str) -> str | None:
        """Why it cannot run in a mode of runs and sweeps, if so."""
        del mode
        return None

    @abstractmethod
    def refuse(self, topology: str, family: str) -> str | None:
        """Why it cannot run on a machine of a family, if so."""

    @abstractmethod
    def describe(self) -> Shown:
        """What it is and what may be set of it, for `kernbench show`."""

    def check(self) -> Checked:
        """What it declares, for `kernbench check`. Errors: InputError for what it must not."""
        found = self.describe()
        return Checked(
            f"{found.place}: {found.kind}", [f"takes: {', '.join(self.parameters) or 'nothing'}"], found.data
        )

    def parameter_rows(self) -> list[dict[str, str]]:
        """A row for each parameter: its name (`field`), default, allowed values and meaning, as texts."""
        return [
            {"field": name, "default": show_value(default), "allowed": show_type(default), "meaning": ""}
            for name, default in self.parameters.items()
        ]

    def read_environment(
        self, environment: Mapping[str, str], given: Mapping[str, object]
    ) -> tuple[dict[str, str], dict[str, object]]:
        """The parameters and the fields of the topology that variables set, without parameters that are given.

        Errors: InputError.
        """
        del environment, given
        return {}, {}

    @abstractmethod
    def prepare(self, request: Request) -> Prepared:
        """Check a request before anything runs. Errors: InputError."""

    def prepare_all(self, request: Request, others: Sequence[Workload]) -> list[Prepared]:
        """The same with others that run after it on the same machine. Errors: InputError where each runs alone."""
        if others:
            raise InputError(
                f"run takes one program, or several Tanto programs that run in turn on one chip; {self.name} runs alone"
            )
        return [self.prepare(request)]

    def run_point(self, request: Request) -> object:
        """The result of a point of a sweep: what has attributes of a RunResult; those it lacks are null in the table."""
        return self.prepare(request).run()

    def title(self, result: RunResult) -> str:
        """What a result is of, for the first line of its summary."""
        return result.bench

    def defaults(self, parameters: Mapping[str, object]) -> Mapping[str, object]:
        """The values that parameters have if they are not set, where some are as given."""
        del parameters
        return self.parameters

    @abstractmethod
    def tables(self, result: RunResult) -> list[TextTable]:
        """The summary of a result."""


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A kind of programs, such as a programming system.

    `claims` says whether a name is one of its programs; the module `workloads` has `find(name, values)`, which returns the
    workload of such a name, and `list_entries()` if its programs are listed.
    """

    name: str
    kind: str  # of its programs, in `kernbench list` and `kernbench show`
    title: str  # of a program, in tables and sentences
    machine: str  # where its programs run if none is named
    workloads: str
    claims: Callable[[str], bool]
    names: Callable[[], Named]
    small: Mapping[str, object]  # a grid of little work, after which all that a point needs is imported and compiled
    files_of: Callable[[str, Mapping[str, object]], Files] = lambda _name, _parameters: []
    make_whole: Callable[[Mapping[str, object]], dict[str, object]] = dict  # parameters with whole paths
    folder: str = ""  # of the files that are named, of which the docstring says what each is
    runs: bool = True  # else its programs are swept alone
    verifies: bool = False  # a run computes its numbers unless it is told not to
    shares: bool = False  # points that differ in figures of the topology share work (`execution.shared_structure`)
    options: frozenset[str] = field(default_factory=frozenset[str])  # what a run takes of live, device and op limit
    pictures: str = ""  # the module of `report` that draws its runs, with `draw_run(result)`
    suffixes: tuple[str, ...] = ()  # of its files, for Tab
    inside: Callable[[str], Iterable[str]] = lambda _begun: ()  # programs of a file whose name is begun, for Tab
    parameters_of: Callable[[str], Mapping[str, tuple[str, ...]]] = (
        lambda _name: {}
    )  # of one that `names` has not, for Tab

    def find(self, name: Name, values: Values | None = None) -> Workload:
        """One of its programs. Errors: InputError for a name of none."""
        return import_module(self.workloads).find(name, values or {})


def refuse_family(what: str, needed: str, topology: str, family: str, machine: str) -> str | None:
    """Why programs of one family cannot run on a machine of another; None if it is their own. `machine` would do."""
    if family == needed:
        return None
    of = f"topology {shorten(topology)!r} is of family {family!r}"
    return f"{what} run on family {needed!r}, and {of}; give one such as {machine}"
