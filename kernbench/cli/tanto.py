"""`kernbench tanto`: run Tanto programs, check kernel files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli import completion, options
from kernbench.cli.main import SuggestingGroup
from kernbench.cli.screen import complain, say, show
from kernbench.errors import InputError, KernBenchError, shorten
from kernbench.library import TANTO_TOPOLOGY

if TYPE_CHECKING:
    from kernbench.cli.progress import Display
    from kernbench.tanto.device import Device
    from kernbench.tanto.loading import KernelFiles
    from kernbench.tanto.program_file import ProgramSpec
    from kernbench.tanto.run import TantoResult

_DEFINE = click.option(
    "-D", "--define", "defines", multiple=True, metavar="NAME=TEXT", help="A macro, such as T=float32; may be repeated."
)


@click.group("tanto", cls=SuggestingGroup)
def command() -> None:
    """Run Tanto programs on a chip of Tensix cores; check their kernels."""


@command.command("run")
@click.argument("programs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--kernels",
    required=True,
    type=click.Path(path_type=Path),
    help="The folder of the kernel files.",
)
@click.option(
    "--kernel-map", type=click.Path(path_type=Path), help='A JSON file: path to {"src": path, "params": [...]}.'
)
@click.option("--in", "inputs", multiple=True, metavar="ID=FILE", help="A global buffer from a .npy or .bin file.")
@click.option(
    "--topology",
    "-t",
    default=TANTO_TOPOLOGY,
    show_default=True,
    help="The chip: a name or a YAML file.",
    shell_complete=completion.topologies,
)
@options.mode()
@click.option(
    "--rounding",
    type=click.Choice(["truncate", "nearest"]),
    default="truncate",
    show_default=True,
    help="How floats become bfloat16.",
)
@click.option("--no-data", is_flag=True, help="Only times: move and compute no numbers, where no kernel reads any.")
@_DEFINE
@options.assignments("A topology field (tensix_core.fidelity=lofi)")
@options.EXPLAIN
@click.option(
    "--what-if", is_flag=True, help="Simulate each field of the topology twice as fast, however long it takes."
)
@options.TIME_LIMIT
@options.TRACE
@options.TRACE_FILTER
@options.AS_JSON
@options.out("Write the global buffers after each program here, g<ID>.npy, and its run, for kernbench web.")
@options.FORMS
def run(
    programs: tuple[Path, ...],
    kernels: Path,
    kernel_map: Path | None,
    inputs: tuple[str, ...],
    topology: str,
    mode: str,
    rounding: str,
    no_data: bool,
    defines: tuple[str, ...],
    assignments: tuple[str, ...],
    explain: bool,
    what_if: bool,
    time_limit: str | None,
    trace: Path | None,
    trace_filters: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Run PROGRAMS, JSON files, in turn on one chip, which keeps its buffers.

    With several programs the buffers after each, and its run, are in a folder of its name, and the last buffers beside these;
    the second of one name has NAME-2.
    """
    from kernbench.cli.assignment import read_fields
    from kernbench.cli.traces import check_parts
    from kernbench.limits.run_limits import read_limits
    from kernbench.machine import load_machine
    from kernbench.modes import check_mode
    from kernbench.runs.request import note_programs
    from kernbench.tanto.device import Device
    from kernbench.tanto.program_settings import read_defines, read_inputs

    check_mode(mode)
    _check_outputs(programs, out, forms, trace, trace_filters)
    files = _kernel_files(kernels, kernel_map)
    overrides = read_fields(assignments)
    macros = read_defines(defines)
    device = Device(load_machine(topology, overrides), nearest=rounding == "nearest", defines=macros)
    check_parts(device.machine, trace_filters)
    limits = read_limits(time_limit, None)
    specs = [_try_load(path) for path in programs]
    known = [spec for spec in specs if not isinstance(spec, KernBenchError)]
    device.initial = read_inputs(inputs, known if len(known) == len(specs) else None)
    request = note_programs(
        programs,
        kernels,
        kernel_map,
        topology,
        inputs=inputs,
        defines=defines,
        rounding=rounding,
        numbers=not no_data,
        python=_list_python(files, known),
        machine=device.machine,
    )
    asked = _Asked(explain, what_if, as_json, out, forms, trace, trace_filters)
    runs = _Runs(device, files, mode, limits.time_s, overrides, request, asked)
    if worst := runs.run_all(programs, specs):
        raise click.exceptions.Exit(worst)


def _check_outputs(
    programs: Sequence[Path], out: Path | None, forms: tuple[str, ...], trace: Path | None, filters: tuple[str, ...]
) -> None:
    """Errors: InputError for what could not be written after the programs."""
    from kernbench.cli.traces import check_outputs

    check_outputs(out, forms, trace, filters)
    if trace is not None and programs[1:]:
        raise InputError(f"--trace takes one program, and {len(programs)} were given; run them one by one")


def _try_load(path: Path) -> ProgramSpec | KernBenchError:
    """A program, or why it cannot be read."""
    from kernbench.tanto.program_file import load_program

    try:
        return load_program(path)
    except KernBenchError as error:
        return error


def _list_python(files: KernelFiles, programs: Sequence[ProgramSpec]) -> list[Path]:
    """The Python files that hold kernels of programs; where one is not there, running the program says so."""
    found = list[Path]()
    for program in programs:
        with suppress(InputError):
            found += [file for file in files.list_files(program) if file.suffix == ".py"]
    return found


def _get(spec: ProgramSpec | KernBenchError) -> ProgramSpec:
    if isinstance(spec, KernBenchError):
        raise spec
    return spec


def _name_folders(programs: Sequence[Path]) -> list[str]:
    """A folder for each program: its name, which a number follows if an earlier one has it."""
    folders = list[str]()
    for program in programs:
        names = (program.stem if number == 1 else f"{program.stem}-{number}" for number in count(1))
        folders.append(next(name for name in names if name not in folders))
    return folders


def _kernel_files(folder: Path, kernel_map: Path | None) -> KernelFiles:
    from kernbench.tanto.loading import KernelFiles
    from kernbench.tanto.program_file import load_kernel_map

    if not folder.is_dir():
        raise InputError(f"--kernels takes a folder, and {shorten(folder)} is none")
    return KernelFiles(folder, load_kernel_map(kernel_map) if kernel_map else {})


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is told and kept of each program."""

    explain: bool
    what_if: bool
    as_json: bool
    out: Path | None
    forms: tuple[str, ...]
    trace: Path | None
    trace_filters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Runs:
    """How programs are run in turn on a device, and shown."""

    device: Device
    files: KernelFiles
    mode: str
    time_s: float | None
    overrides: Mapping[str, str]
    request: Mapping[str, Any]
    asked: _Asked

    def run_all(self, programs: Sequence[Path], specs: Sequence[ProgramSpec | KernBenchError]) -> int:
        """The worst exit code of the programs. Errors: those of `run` if there is one; of several each is said."""
        if not programs[1:]:
            return self.run(programs[0], _get(specs[0]), None)
        return max(map(self.try_run, programs, specs, _name_folders(programs)))

    def try_run(self, path: Path, spec: ProgramSpec | KernBenchError, folder: str) -> int:
        """The exit code of one program among several; a failure is said, and the next one runs."""
        try:
            return self.run(path, _get(spec), folder)
        except KernBenchError as error:
            if self.asked.as_json:
                click.echo(json.dumps({"program": str(path), "status": "error", "error": str(error)}))
            complain(f"error: {error if str(path) in str(error) else f'{path}: {error}'}")
            return error.exit_code

    def run(self, path: Path, spec: ProgramSpec, folder: str | None) -> int:
        """The exit code of a program; its buffers also go to a folder. Errors: those of `run_program`."""
        from kernbench.cli.compiling import announce_compiling
        from kernbench.cli.progress import progress
        from kernbench.engine.jit_status import running_s
        from kernbench.limits.time_limit import limit_time
        from kernbench.tanto.run import run_program

        with progress() as display:
            display.say("running the kernels")
            announce_compiling()
            started = running_s()
            with limit_time(self.time_s, lambda: f"program {shorten(path)}"):
                numbers, on_progress = self.request["numbers"], display.on_progress
                result = run_program(
                    self.device,
                    spec,
                    self.files,
                    name=str(path),
                    numbers=numbers,
                    mode=self.mode,
                    on_progress=on_progress,
                )
            wall_s = running_s() - started
            found = {} if result.error else self._tell(result, spec, folder, wall_s, display)
        from kernbench.cli.summary import tell_settings

        place = f"{self.device.machine.name}, {self.mode} mode{tell_settings({}, {}, self.overrides)}"
        _show(result, found, place, as_json=self.asked.as_json)
        if result.error:
            complain(f"error: {result.error}")
        return 2 if result.error else 0

    def _tell(
        self, result: TantoResult, spec: ProgramSpec, folder: str | None, wall_s: float, display: Display
    ) -> dict[str, Any]:
        """Explain a program and write what is to be kept of it; returns what is told of it besides its figures."""
        from kernbench.atomic_output import write_directory
        from kernbench.cli.explained import explain_result
        from kernbench.report.tables.table_files import write_forms
        from kernbench.runs.files import write_files
        from kernbench.runs.tanto_run import measure_program
        from kernbench.runs.trace import write_trace

        asked, found = self.asked, dict[str, Any]()
        if asked.explain or asked.what_if or asked.out:
            run = measure_program(
                result, mode=self.mode, parameters={}, overrides=self.overrides, wall_s=wall_s, request=self.request
            )
            explanation, table, found = explain_result(run, display, explain=asked.explain, what_if=asked.what_if)
            if asked.out is not None:
                display.say("writing the buffers and the op log")
                told, write_buffers = {"program": result.to_dict()}, partial(_write_buffers, self.device, spec)
                files = write_files(run, asked.out / (folder or ""), explanation, table, told, write_buffers)
                write_forms(files, asked.forms)
                if folder is not None:
                    write_directory(asked.out, write_buffers)
        if asked.trace is not None:
            assert result.session is not None
            write_trace(result.session, (), asked.trace, asked.trace_filters)
            found = {**found, "files": {"trace": str(asked.trace)}}
        return found


def _write_buffers(device: Device, spec: ProgramSpec, directory: Path) -> None:
    import numpy as np

    for one in spec.globals:
        np.save(directory / f"g{one.id}.npy", device.read(one.id))


def _show(result: TantoResult, found: dict[str, Any], place: str, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result.to_dict() | found))
        return
    from kernbench.cli.outputs import show_files
    from kernbench.report.tables.text_table import list_table

    say(f"{result.program} on {place}: {result.status}", bold=True)
    lines = [
        ("cores", f"{result.cores:,}", "that run kernels"),
        ("L1", f"{result.l1_peak_bytes:,} B", "at most, of one core"),
    ]
    if result.latency_ns is not None:
        clock = ("", f"{result.cycles:,.0f} cycles", "of the chip's clock")
        lines = [("latency", f"{result.latency_ns:,.3f} ns", "simulated time, start to end of the run"), clock, *lines]
    show(list_table(lines))
    for sentence in result.told:
        say(sentence)
    if "explain" in found:
        from kernbench.cli.explained import show_explanation

        show_explanation(found["explain"], long=found["explain"]["what_if"] is None)
    if "what_if" in found:
        from kernbench.cli.explained import show_what_if

        show_what_if(found["what_if"])
    show_files(found.get("files", {}))


@command.command("check")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_DEFINE
@options.AS_JSON
def check(paths: tuple[Path, ...], defines: tuple[str, ...], as_json: bool) -> None:
    """Check kernel files, or all in folders; say what each uses, what it may race on, and what takes room in L1.

    Of a program file (.json) among them, say how much its objects take.
    """
    from kernbench.tanto.kernel_report import check_file, kernel_files
    from kernbench.tanto.program_l1 import find_l1
    from kernbench.tanto.program_settings import read_defines

    macros, wrong, reports = read_defines(defines), list[str](), list[dict[str, Any]]()
    programs = [find_l1(path).to_dict() for path in paths if path.suffix == ".json"]
    for path in kernel_files(path for path in paths if path.suffix != ".json"):
        try:
            reports.append(check_file(path, macros).to_dict())
        except InputError as error:
            wrong.append(str(error))
    if as_json:
        click.echo(json.dumps({"kernels": reports, "errors": wrong} | ({"programs": programs} if programs else {})))
    else:
        for report in reports:
            _show_report(report)
        for one in programs:
            say(f"{one['file']}: {one['l1_peak_bytes']:,} B of L1 at most, of one core", bold=True)
            say(f"  L1: {', '.join(f'{name} {size:,} B' for name, size in one['l1'].items())}")
        say(f"{len(reports)} kernel files are good, {len(wrong)} are not")
    if wrong:
        raise InputError("\n".join(wrong))


def _show_report(report: dict[str, Any]) -> None:
    say(f"{report['file']}: {report['kind']} kernel", bold=True)
    for title, key in (("takes", "parameters"), ("compile time", "compile_time"), ("uses", "uses"), ("L1", "l1")):
        if report[key]:
            say(f"  {title}: {', '.join(report[key])}")
    for sentence in report["may_race"]:
        say(f"  may race: {sentence}")
