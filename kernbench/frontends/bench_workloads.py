"""Benches as workloads: functions under `@bench`, whose kernels run on PEs or are Tanto programs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernbench.errors import InputError, shorten
from kernbench.frontends import benches
from kernbench.frontends.bench_tables import summary_tables
from kernbench.frontends.frontend import Name, Values, Workload, refuse_family
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.shown import Section, Shown, show_type, show_value
from kernbench.library import is_file, shipped, show_path
from kernbench.modes import EVENT_MODES, SWEEP_MODES
from kernbench.python_text import Written
from kernbench.runs.bench import Bench, find_bench, replaces_shipped, typed_parameters
from kernbench.runs.declared_benches import FOLDERS
from kernbench.runs.result import RunResult
from kernbench.schema.scalars import Scalar
from kernbench.text_table import TextTable

COLUMNS = {"field": "parameter", "default": "default", "allowed": "may be", "meaning": "meaning"}
TANTO_FAMILY = "tensix"


@dataclass(frozen=True, slots=True)
class BenchWorkload(Workload):
    """A bench; `given` is how it was asked for."""

    of: Bench
    given: str

    record = benches.FRONT_END

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.of.name

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return f"{self.of.file}:{self.of.name}"

    @property
    def noted(self) -> str | None:
        """As of `Workload`; the name of one that came with KernBench."""
        if any(self.of.file.parent == shipped() / folder for folder in FOLDERS):
            return self.of.name
        return f"{self.of.file.absolute()}:{self.of.name}" if is_file(self.of.file) else None

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """As of `Workload`."""
        return self.of.parameters

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`; algorithms and settings of collectives belong to it if it may use them."""
        source = self.of.file.read_bytes()
        digest = hashlib.sha256(source)
        if b"distributed" in source:
            from kernbench.ccl.config import list_files

            for path in list_files():
                digest.update(f"{path.name}\n".encode() + path.read_bytes())
        return {f"bench {self.given}": digest.hexdigest()}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`."""
        return self.of.files

    def read(self, name: str, value: object) -> Scalar:
        """As of `Workload`."""
        return typed_parameters(self.of, {name: value})[name]

    def problems(self) -> Iterator[str]:
        """As of `Workload`."""
        for name, default in self.of.parameters.items():
            if isinstance(default, Written):
                yield (
                    f"{self.of.place}: the default of parameter {name!r} is {default}, which only running the bench gives; "
                    "--try runs it"
                )

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        if family == "mesh":
            return (
                f"topology {shorten(topology)!r} is of family 'mesh', a bare network without PEs to run a bench on; "
                "give one of family 'sip', or a pattern in place of the bench"
            )
        if family == TANTO_FAMILY:
            return (
                f"topology {shorten(topology)!r} is of family {TANTO_FAMILY!r}, which runs Tanto programs, and bench "
                f"{self.name!r} is none; give a topology of family 'sip', such as {self.machine}, or declare it with "
                "@bench(..., system='tanto')"
            )
        return None

    @property
    def runs_as(self) -> str:
        """What `kernbench run` takes for it."""
        return self.name

    def describe(self) -> Shown:
        """As of `Workload`."""
        rows = self.parameter_rows()
        data = {**self.of.to_dict(), "kind": "bench", "place": self.of.place, "text": self.of.text, "fields": rows}
        live = ", whose kernels branch on data" if self.of.live else ""
        first = next(iter(self.parameters), None)
        run = f"kernbench run {self.runs_as}"
        return Shown(
            self.name,
            f"bench for {self.machines}{live}",
            self.of.description,
            self.of.place,
            [Section("", rows, COLUMNS)] if rows else [],
            data,
            text=self.of.text,
            remarks=[f"{run} runs it" if first is None else f"{run} --set {first}=VALUE runs it with another value"],
        )

    @property
    def machines(self) -> str:
        """Those that it runs on, in words."""
        return "machines of family sip"

    def parameter_rows(self) -> list[dict[str, str]]:
        """A row for each parameter: its name, default, allowed values and meaning, as texts."""
        choices = self.of.choices
        return [
            {
                "field": name,
                "default": show_value(default),
                "allowed": ", ".join(map(show_value, choices[name])) if name in choices else show_type(default),
                "meaning": self.of.meanings.get(name, ""),
            }
            for name, default in self.parameters.items()
        ]

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`."""
        from kernbench.frontends.bench_runs import prepare_bench  # with the engine, which showing a bench does without

        return prepare_bench(self, request)

    def check_family(self, topology: str, family: str) -> None:
        """Check that it runs on a machine of a family. Errors: InputError; a mesh is refused where its PEs are missed."""
        if family != "mesh" and (refusal := self.refuse(topology, family)):
            raise InputError(refusal)

    def title(self, result: RunResult) -> str:
        """As of `Workload`; a bench in place of one that came with KernBench has its file."""
        return f"{result.bench} ({show_path(self.of.file)})" if replaces_shipped(self.of) else result.bench

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`."""
        return summary_tables(result)


@dataclass(frozen=True, slots=True)
class TantoBenchWorkload(BenchWorkload):
    """A bench of Tanto programs, with kernels in files beside its own."""

    record = benches.TANTO

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`; its kernels belong to it."""
        folder = self.of.file.parent
        return {f"bench {self.given}": _digest_of([self.of.file, *sorted((folder / "kernels").rglob("*"))], folder)}

    def refuse_mode(self, mode: str) -> str | None:
        """As of `Workload`."""
        return refuse_bounds(mode, "Tanto programs")

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("Tanto programs", TANTO_FAMILY, topology, family, self.machine)

    @property
    def machines(self) -> str:
        """As of `BenchWorkload`."""
        return "chips of family tensix"

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`."""
        from kernbench.frontends.tanto_bench_runs import prepare_tanto_bench  # as of `BenchWorkload`

        return prepare_tanto_bench(self, request)


def refuse_bounds(mode: str, what: str) -> str | None:
    """Why a program that has no bounds cannot run in a mode, if so."""
    if mode in SWEEP_MODES and mode not in EVENT_MODES:
        return f"mode {mode} bounds benches of family 'sip'; give hybrid or flit for {what}"
    return None


def _digest_of(files: Iterable[Path], folder: Path) -> str:
    """The digest of files by their paths from a folder; other things than files are left out."""
    digest = hashlib.sha256()
    for path in files:
        if path.is_file():
            digest.update(f"{path.relative_to(folder).as_posix()}\n".encode() + path.read_bytes())
    return digest.hexdigest()


def find(name: Name, values: Values) -> BenchWorkload:
    """A bench by name, index, path or as its function. Errors: InputError for a name of none."""
    del values
    found = find_bench(name)
    kind = TantoBenchWorkload if found.is_tanto else BenchWorkload
    return kind(found, found.name if callable(name) else str(name))
