"""Tanto program files as workloads. Several run in turn on one chip, which keeps its buffers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from kernbench.engine.jit_status import running_s
from kernbench.errors import DeadlockError, InputError, KernBenchError, shorten, suggest
from kernbench.frontends import tanto_programs
from kernbench.frontends.bench_workloads import refuse_bounds
from kernbench.frontends.frontend import Checked, Name, Values, Workload, refuse_family
from kernbench.frontends.prepared import Prepared, Request
from kernbench.frontends.request import note_request
from kernbench.frontends.shown import Row, Section, Shown
from kernbench.frontends.tanto_programs import PARAMETERS, ROUNDINGS, split_texts
from kernbench.frontends.tanto_result import ProgramResult, measure, program_tables, write_globals
from kernbench.library import show_path
from kernbench.limits.run_options import RunOptions
from kernbench.machine import load_machine
from kernbench.machine.setting_names import check_names
from kernbench.modes import check_mode
from kernbench.runs.result import RunResult
from kernbench.schema.scalars import Scalar, read_parameter
from kernbench.tanto.device import Device
from kernbench.tanto.loading import KernelFiles
from kernbench.tanto.program_file import KERNEL_KINDS, PIPE_KINDS, ProgramSpec, load_kernel_map, load_program
from kernbench.tanto.program_l1 import find_l1
from kernbench.tanto.program_settings import read_defines, read_inputs
from kernbench.tanto.run import TantoResult, run_program
from kernbench.text import plural
from kernbench.text_table import TextTable
from kernbench.units import unit_of

_FILES = ("program", "kernels", "kernel_map", "inputs")  # the parameters that name files
_MEANINGS = {
    "program": "the program file; a sweep may compare several",
    "kernels": "the folder of the kernel files; that of the program if empty",
    "kernel_map": 'a JSON file: path to {"src": path, "params": [...]}',
    "inputs": "global buffers from .npy or .bin files, ID=FILE with commas between them",
    "defines": "macros, such as T=float32, with commas between them",
    "rounding": "how floats become bfloat16",
}
_PIPES = {
    "field": "pipe",
    "kind": "kind",
    "format": "elements of",
    "tiles": "tiles",
    "frame": "tiles a frame",
    "cores": "on cores",
}


@dataclass(frozen=True, slots=True)
class TantoProgramWorkload(Workload):
    """A program file, or several that a grid compares, with the values of the parameters that name files."""

    program: str
    given: Mapping[str, Sequence[str]]

    record = tanto_programs.FRONT_END

    @property
    def name(self) -> str:
        """As of `Workload`."""
        return self.program

    @property
    def source(self) -> str:
        """As of `Workload`."""
        return self.program

    @property
    def noted(self) -> str:
        """As of `Workload`."""
        return str(Path(self.program).absolute())

    @property
    def parameters(self) -> Mapping[str, Scalar]:
        """As of `Workload`."""
        return {**PARAMETERS, "program": self.program}

    @property
    def digests(self) -> Mapping[str, str]:
        """As of `Workload`: one of all files that its points read."""
        digest = hashlib.sha256()
        for file in sorted({str(file) for point in self._choices() for file in _list_files(point)}):
            digest.update(f"{file}\n".encode() + Path(file).read_bytes())
        return {f"program {self.program}": digest.hexdigest()}

    @property
    def files(self) -> Sequence[Path]:
        """As of `Workload`; where one is not there, running the program says so."""
        found = list[Path]()
        for point in self._choices():
            with suppress(InputError):
                found += [file for file in _list_files(point) if file.suffix == ".py"]
        return found

    def read(self, name: str, value: object) -> Scalar:
        """As of `Workload`."""
        known = self.parameters
        if name not in known:
            raise InputError(f"a program file has no parameter {name!r}{suggest(name, known)}")
        read = read_parameter(f"parameter {name!r} of program {self.program!r}", known[name], value, unit_of(name))
        if name == "defines":
            read_defines(split_texts(read), "defines")
        if name == "rounding" and read not in ROUNDINGS:
            raise InputError(f"rounding cannot be {shorten(read)!r}{suggest(str(read), ROUNDINGS)}")
        return read

    def problems(self) -> Iterator[str]:
        """As of `Workload`."""
        for point in self._choices():
            try:
                _list_files(point)
            except InputError as error:
                yield from str(error).splitlines()
                return

    def refuse_mode(self, mode: str) -> str | None:
        """As of `Workload`."""
        return refuse_bounds(mode, "Tanto programs")

    def refuse(self, topology: str, family: str) -> str | None:
        """As of `Workload`."""
        return refuse_family("Tanto programs", "tensix", topology, family, self.machine)

    def describe(self) -> Shown:
        """As of `Workload`. Errors: InputError as `load_program`."""
        found, path = load_program(Path(self.program)), Path(self.program)
        buffer_columns = {"field": "buffer", "kind": "kind", "format": "elements of", "elements": "elements"}
        sections = [
            Section("", _kernels(found), {"field": "kernel", "kind": "kind", "cores": "on cores"}),
            Section("", _pipes(found), _PIPES),
            Section("", _buffers(found), buffer_columns),
        ]
        counts = [len(section.rows) for section in sections]
        said = ", ".join(map(plural, (*counts, len(found.semaphores)), ("kernel", "pipe", "buffer", "semaphore")))
        fields = [row for section in sections for row in section.rows]
        data = {
            "name": path.stem, "kind": "tanto-program", "description": said, "file": str(path.resolve()), "fields": fields
        }  # fmt: skip
        place = show_path(path)
        kept = [section for section in sections if section.rows]
        remarks = [f"kernbench run {place} runs it"]
        return Shown(path.stem, self.record.title, said, place, kept, data, remarks=remarks)

    def check(self) -> Checked:
        """As of `Workload`: how much its objects take."""
        found = find_l1(Path(self.program))
        title = f"{found.file}: {found.peak_bytes:,} B of L1 at most, of one core"
        line = f"L1: {', '.join(f'{name} {size:,} B' for name, size in found.objects.items())}"
        return Checked(title, [line], found.to_dict())

    def parameter_rows(self) -> list[dict[str, str]]:
        """As of `Workload`."""
        return [
            {"field": name, "default": str(default) or '""', "allowed": "text", "meaning": _MEANINGS[name]}
            for name, default in self.parameters.items()
        ]

    def prepare(self, request: Request) -> Prepared:
        """As of `Workload`."""
        (prepared,) = self.prepare_all(request, ())
        return prepared

    def prepare_all(self, request: Request, others: Sequence[Workload]) -> list[Prepared]:
        """As of `Workload`; a program that cannot be read says so when it runs, after those before it."""
        check_mode(request.options.mode)
        workloads = [self, *others]
        owner = f"program {shorten(self.program)!r}"
        check_names(request.parameters, self.parameters, request.machine, owner=owner, option="parameters")
        given = {name: self.read(name, value) for name, value in request.parameters.items()}
        paths = [Path(str(given.get("program") or self.program)), *(Path(str(one.source)) for one in others)]
        files = _kernel_files({**self.parameters, **given})
        request.options.stage("compiling the machine")
        machine, macros = load_machine(request.machine, request.fields), _read_defines(given)
        device = Device(machine, nearest=given.get("rounding") == "nearest", defines=macros)
        specs = [_try_load(path) for path in paths]
        known = [spec for spec in specs if not isinstance(spec, KernBenchError)]
        complete = known if len(known) == len(specs) else None
        device.initial = read_inputs(split_texts(given.get("inputs", "")), complete, "inputs")
        chip = _Chip(device, files, request, workloads)
        return [
            Prepared(one, machine, partial(chip.run, path, spec))
            for one, path, spec in zip(workloads, paths, specs, strict=True)
        ]

    def tables(self, result: RunResult) -> list[TextTable]:
        """As of `Workload`."""
        return program_tables(result)

    def _choices(self) -> Iterator[dict[str, str]]:
        """All combinations of the files that the grid names."""
        for values in product(*self.given.values()):
            yield dict(zip(self.given, values, strict=True))


@dataclass(frozen=True, slots=True)
class _Chip:
    """A chip on which programs run in turn."""

    device: Device
    files: KernelFiles
    request: Request
    workloads: Sequence[Workload]

    def run(self, path: Path, spec: ProgramSpec | KernBenchError) -> RunResult:
        """The result of a program. Errors: InputError for one that cannot be read, DeadlockError, and those of the run."""
        if isinstance(spec, KernBenchError):
            raise spec
        request, options, started = self.request, self.request.options, running_s()
        options.stage("running the kernels")
        found = self._run(path, spec, options)
        if found.error:
            raise ProgramDeadlock(found)
        options.stage("measuring the run")
        assert found.session is not None
        return ProgramResult(
            bench=str(path),
            topology=self.device.machine.name,
            mode=options.mode,
            parameters=dict(request.parameters),
            overrides=dict(request.fields),
            wall_s=running_s() - started,
            verified=None,
            mismatches=(),
            request=note_request(request, self.workloads, self.device.machine),
            figures=found.to_dict(),
            write_buffers=partial(write_globals, self.device, spec),
            **measure(found),
        )

    def _run(self, path: Path, spec: ProgramSpec, options: RunOptions) -> TantoResult:
        return run_program(
            self.device,
            spec,
            self.files,
            name=str(path),
            numbers=options.verify,
            mode=options.mode,
            on_progress=options.on_progress,
        )


class ProgramDeadlock(DeadlockError):
    """A program has come to no end; `figures` is what is known of it."""

    exit_code = 2  # as programs of this language are answered elsewhere

    def __init__(self, found: TantoResult) -> None:
        super().__init__("\n".join((found.error, *found.told)))
        self.figures = found.to_dict()


def _try_load(path: Path) -> ProgramSpec | KernBenchError:
    """A program, or why it cannot be read."""
    try:
        return load_program(path)
    except KernBenchError as error:
        return error


def _kernel_files(parameters: Mapping[str, object]) -> KernelFiles:
    """Where the kernels are. Errors: InputError."""
    given, program = str(parameters["kernel_map"]), Path(str(parameters["program"]))
    folder = Path(str(parameters["kernels"] or program.parent))
    if not folder.is_dir():
        raise InputError(f"kernels takes a folder, and {shorten(folder)} is none")
    return KernelFiles(folder, load_kernel_map(Path(given)) if given else {})


def _list_files(parameters: Mapping[str, str]) -> list[Path]:
    """All files that a point reads. Errors: InputError for one that is not there or cannot be read."""
    path, files = Path(parameters["program"]), _kernel_files(parameters)
    program = load_program(path)
    read_inputs(split_texts(parameters["inputs"]), [program], "inputs")
    inputs = [Path(text.partition("=")[2]) for text in split_texts(parameters["inputs"])]
    maps = [Path(parameters["kernel_map"])] if parameters["kernel_map"] else []
    return [path, *files.list_files(program), *inputs, *maps]


def _read_defines(parameters: Mapping[str, object]) -> dict[str, str]:
    return read_defines(split_texts(parameters.get("defines", "")), "defines")


def _kernels(found: ProgramSpec) -> list[Row]:
    return [{"field": one.path, "kind": KERNEL_KINDS[one.kind], "cores": _ranges(one.ranges)} for one in found.kernels]


def _pipes(found: ProgramSpec) -> list[Row]:
    return [
        {
            "field": f"p{one.id}",
            "kind": PIPE_KINDS[one.kind],
            "format": one.fmt,
            "tiles": str(one.tiles),
            "frame": str(one.frame),
            "cores": _ranges(one.ranges),
        }
        for one in found.pipes
    ]


def _buffers(found: ProgramSpec) -> list[Row]:
    named = [(f"g{one.id}", "global", one) for one in found.globals]
    named += [(f"l{one.id}", "local", one) for one in (*found.device_locals, *found.locals)]
    return [{"field": name, "kind": kind, "format": one.fmt, "elements": f"{one.size:,}"} for name, kind, one in named]


def _ranges(ranges: Sequence[tuple[int, int, int, int]]) -> str:
    return ", ".join(f"({left}, {top}) to ({right}, {bottom})" for left, top, right, bottom in ranges)


def find(name: Name, values: Values) -> TantoProgramWorkload:
    """A program by its path; what it says is read when it is checked."""
    defaults = {"program": (str(name),), **dict.fromkeys(_FILES[1:], ("",))}
    return TantoProgramWorkload(str(name), {each: [*map(str, values.get(each, defaults[each]))] for each in _FILES})
