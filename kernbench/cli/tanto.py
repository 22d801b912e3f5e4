"""`kernbench tanto`: run Tanto programs, check kernel files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli import completion, options
from kernbench.cli.main import SuggestingGroup
from kernbench.cli.screen import complain, say
from kernbench.errors import InputError, KernBenchError, shorten

if TYPE_CHECKING:
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
    default="wormhole_n150",
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
@click.option("--no-numbers", is_flag=True, help="Only times: move and compute no data, where no kernel reads any.")
@_DEFINE
@options.assignments("A topology field (tensix_core.fidelity=lofi)")
@click.option("--explain", is_flag=True, help="Say where the time went.")
@options.TIME_LIMIT
@options.TRACE
@options.TRACE_FILTER
@options.AS_JSON
@options.out("Write the global buffers after each program here: g<ID>.npy, and the op log if --explain is given.")
@options.FORMS
def run(
    programs: tuple[Path, ...],
    kernels: Path,
    kernel_map: Path | None,
    inputs: tuple[str, ...],
    topology: str,
    mode: str,
    rounding: str,
    no_numbers: bool,
    defines: tuple[str, ...],
    assignments: tuple[str, ...],
    explain: bool,
    time_limit: str | None,
    trace: Path | None,
    trace_filters: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Run PROGRAMS, JSON files, in turn on one chip, which keeps its buffers.

    With several programs the buffers after each are in a folder of its name, and those after the last beside these.
    """
    from kernbench.cli.outputs import check_directory, check_forms
    from kernbench.cli.traces import check_parts, check_trace
    from kernbench.limits.run_limits import read_limits
    from kernbench.modes import check_mode
    from kernbench.tanto.program_file import load_program
    from kernbench.tanto.program_settings import read_defines, read_inputs

    check_mode(mode)
    check_forms(forms, out)
    if out is not None:
        check_directory(out)
    check_trace(trace, trace_filters)
    if trace is not None and programs[1:]:
        raise InputError(f"--trace takes one program, and {len(programs)} were given; run them one by one")
    files = _kernel_files(kernels, kernel_map)
    device = _make_device(topology, assignments, rounding, read_defines(defines))
    check_parts(device.machine, trace_filters)
    limits = read_limits(time_limit, None)
    first, *others = programs
    only = None if others else load_program(first)
    device.initial = read_inputs(inputs, only)
    runs = _Runs(device, files, not no_numbers, mode, limits.time_s, explain, as_json, out, forms, trace, trace_filters)
    worst = runs.run(first, only, None) if only else max([runs.try_run(path) for path in programs])
    if worst:
        raise click.exceptions.Exit(worst)


def _kernel_files(folder: Path, kernel_map: Path | None) -> KernelFiles:
    from kernbench.tanto.loading import KernelFiles
    from kernbench.tanto.program_file import load_kernel_map

    if not folder.is_dir():
        raise InputError(f"--kernels takes a folder, and {shorten(folder)} is none")
    return KernelFiles(folder, load_kernel_map(kernel_map) if kernel_map else {})


def _make_device(topology: str, assignments: tuple[str, ...], rounding: str, macros: dict[str, str]) -> Device:
    from kernbench.cli.assignment import split_assignments
    from kernbench.machine import load_machine
    from kernbench.tanto.device import Device

    fields, dotted = split_assignments(assignments)
    return Device(load_machine(topology, {**fields, **dotted}), nearest=rounding == "nearest", defines=macros)


@dataclass(frozen=True, slots=True)
class _Runs:
    """How programs are run in turn on a device, and shown."""

    device: Device
    files: KernelFiles
    numbers: bool
    mode: str
    time_s: float | None
    explain: bool
    as_json: bool
    out: Path | None
    forms: tuple[str, ...]
    trace: Path | None
    trace_filters: tuple[str, ...]

    def try_run(self, path: Path) -> int:
        """The exit code of one program among several; a failure is said, and the next one runs."""
        from kernbench.tanto.program_file import load_program

        try:
            return self.run(path, load_program(path), path.stem)
        except KernBenchError as error:
            if self.as_json:
                click.echo(json.dumps({"program": str(path), "status": "error", "error": str(error)}))
            complain(f"error: {error if str(path) in str(error) else f'{path}: {error}'}")
            return error.exit_code

    def run(self, path: Path, spec: ProgramSpec, folder: str | None) -> int:
        """The exit code of a program; its buffers also go to a folder. Errors: those of `run_program`."""
        from kernbench.limits.time_limit import limit_time
        from kernbench.tanto.run import run_program

        with limit_time(self.time_s, lambda: f"program {shorten(path)}"):
            result = run_program(self.device, spec, self.files, name=str(path), numbers=self.numbers, mode=self.mode)
        shown = _explain(result) if self.explain and result.session is not None else None
        if self.out is not None and not result.error:
            _write(self.device, spec, self.out, self.forms, folder, result if self.explain else None)
        if self.trace is not None and result.session is not None:
            from kernbench.runs.trace import write_trace

            write_trace(result.session, (), self.trace, self.trace_filters)
        _show(result, shown, self.as_json)
        if result.error:
            complain(f"error: {result.error}")
        return 2 if result.error else 0


def _write(
    device: Device, spec: ProgramSpec, out: Path, forms: tuple[str, ...], folder: str | None, result: TantoResult | None
) -> None:
    """Write the buffers of a program, all or none, and the op log of a result."""
    import numpy as np

    from kernbench.atomic_output import write_directory, write_parquet
    from kernbench.report.table_files import write_forms
    from kernbench.runs.files import OP_LOG

    def write(partial: Path) -> None:
        for one in spec.globals:
            np.save(partial / f"g{one.id}.npy", device.read(one.id))
        if result is not None and result.session is not None:
            write_parquet(result.op_log(), partial / OP_LOG)

    for place in (out,) if folder is None else (out / folder, out):
        write_directory(place, write)
        if (place / OP_LOG).exists():
            write_forms({"oplog": place / OP_LOG}, forms)


def _explain(result: TantoResult) -> dict[str, Any]:
    from kernbench.runs.explanation import explain_run

    assert result.session is not None
    return explain_run(result.session, ()).to_dict()


def _show(result: TantoResult, explanation: dict[str, Any] | None, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(result.to_dict() | ({"explain": explanation} if explanation else {})))
        return
    time = "" if result.latency_ns is None else f"{result.latency_ns:,.1f} ns, {result.cycles:,.0f} cycles, "
    say(f"{result.program}: {result.status}", bold=True)
    say(f"{time}{result.cores} cores, {result.l1_peak_bytes:,} bytes of L1 at most")
    for sentence in [str(race) for race in result.races] + [f"warning: {line}" for line in result.out_of_range]:
        say(sentence)
    if explanation:
        from kernbench.cli.explained import show_explanation

        show_explanation(explanation, long=False)


@command.command("check")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@_DEFINE
@options.AS_JSON
def check(paths: tuple[Path, ...], defines: tuple[str, ...], as_json: bool) -> None:
    """Check kernel files, or all in folders; say what each uses, what it may race on, and what it needs of L1."""
    from kernbench.tanto.kernel_report import check_file, kernel_files
    from kernbench.tanto.program_settings import read_defines

    macros, wrong, reports = read_defines(defines), list[str](), list[dict[str, Any]]()
    for path in kernel_files(paths):
        try:
            reports.append(check_file(path, macros).to_dict())
        except InputError as error:
            wrong.append(str(error))
    if as_json:
        click.echo(json.dumps({"kernels": reports, "errors": wrong}))
    else:
        for report in reports:
            _show_report(report)
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
