"""What `kernbench run` does: it finds the programs, checks all that was asked, runs them in turn, explains, keeps and shows."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import click

from kernbench.atomic_output import write_directory
from kernbench.cli.names.assignment import split_assignments
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.energy import show_energy
from kernbench.cli.output.explained import explain_result, show_explanation, show_what_if
from kernbench.cli.output.files import show_files
from kernbench.cli.output.progress import Display, progress
from kernbench.cli.output.screen import complain, say, show
from kernbench.cli.output.settings import tell_settings
from kernbench.cli.output.traces import check_outputs, check_parts
from kernbench.errors import InputError, KernBenchError, RunError
from kernbench.frontends.prepared import Prepared, make_request
from kernbench.frontends.registry import check_options, find, with_numbers
from kernbench.frontends.run import tell_place
from kernbench.limits.run_limits import RunLimits, read_limits
from kernbench.limits.run_options import RunOptions, Stage
from kernbench.limits.time_limit import limit_time
from kernbench.modes import Mode
from kernbench.report.tables.table_files import write_forms
from kernbench.runs.explanation import is_long
from kernbench.runs.result import RunResult
from kernbench.text import bare_name, plural

MOST_WARNINGS = 10  # of a run, on the terminal


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line of `kernbench run`."""

    programs: tuple[str, ...]
    topology: str | None
    mode: str
    verify_data: bool
    no_data: bool
    live: bool
    device: str
    assignments: tuple[str, ...]
    explain: bool
    what_if: bool
    energy: bool
    time_limit: str | None
    op_limit: int | None
    trace: Path | None
    trace_filters: tuple[str, ...]
    as_json: bool
    out: Path | None
    forms: tuple[str, ...]

    @property
    def numbers(self) -> bool | None:
        """Whether numbers are computed; None: as the front-end does it. Errors: InputError for both options."""
        if self.verify_data and self.no_data:
            raise InputError("--verify-data compares numbers and --no-data computes none; give one of them")
        return True if self.verify_data else False if self.no_data else None


def run(asked: Asked) -> int:
    """Run the programs; returns the worst exit code. Errors: those of the run of one program; of several each is said."""
    _check(asked)
    limits, watched = read_limits(asked.time_limit, asked.op_limit), _Watched()
    with redirect_stdout(sys.stderr), progress() as watched.display:  # keep prints of the bench out of the output
        watched.say("reading the bench and the machine")
        prepared = _prepare(asked, limits, watched)
        announce_compiling()
    if not prepared[1:]:
        with _figures_of_errors(asked):
            return _run(asked, prepared[0], asked.programs[0], None, limits, watched)
    folders = _name_folders(asked.programs)
    return max(
        _try_run(asked, one, name, folder, limits, watched)
        for one, name, folder in zip(prepared, asked.programs, folders, strict=True)
    )


class _Watched:
    """The display of the run under way, for callbacks that all runs share."""

    def __init__(self) -> None:
        self.display: Display
        self.stage = Stage(self.say)

    def say(self, text: str) -> None:
        self.display.say(text)

    def on_progress(self, served: int, known: int, now_fs: int) -> None:
        if self.display.on_progress is not None:
            self.display.on_progress(served, known, now_fs)


def _check(asked: Asked) -> None:
    """Errors: InputError for what can be refused without a program."""
    _ = asked.numbers
    if asked.trace is not None and asked.programs[1:]:
        raise InputError(f"--trace takes one program, and {len(asked.programs)} were given; run them one by one")
    events = {"--explain": asked.explain, "--what-if": asked.what_if, "--trace": asked.trace, "--out": asked.out}
    given = next((name for name, value in events.items() if value), None)
    if given and asked.mode == Mode.ANALYTIC:
        raise InputError(f"{given} needs events, and analytic mode has none; use mode hybrid")


def _prepare(asked: Asked, limits: RunLimits, watched: _Watched) -> list[Prepared]:
    """Find and check all that is asked for, so that errors come before the long work."""
    parameters, overrides = split_assignments(asked.assignments)
    with limit_time(limits.time_s, lambda: tell_place(asked.programs[0], watched.stage)):
        workloads = [find(program) for program in asked.programs]
        first = workloads[0]
        check_outputs(asked.out, asked.forms, asked.trace, asked.trace_filters, first.trace_kinds)
        for each in workloads:
            if each.record is not first.record:
                kinds = f"{first.name} is a {first.record.title} and {each.name} a {each.record.title}"
                raise InputError(f"{kinds}; run them one by one")
        own, fields = first.read_environment(os.environ, parameters)
        options = RunOptions(
            asked.mode,
            False,
            asked.live,
            asked.device,
            limits,
            asked.explain,
            watched.stage,
            watched.on_progress,
        )
        options = with_numbers(first.record, options, asked.numbers)
        check_options(first.record, options)
        request = make_request(asked.topology or first.machine, own | parameters, fields | overrides, options)
        prepared = first.prepare_all(request, workloads[1:])
        if asked.trace_filters:
            check_parts(prepared[0].machine, asked.trace_filters, first.trace_kinds)
    return prepared


def _name_folders(programs: Sequence[str]) -> list[str]:
    """A folder for each program: its name, which a number follows if an earlier one has it."""
    folders = list[str]()
    for stem in map(bare_name, programs):
        names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
        folders.append(next(name for name in names if name not in folders))
    return folders


def _try_run(asked: Asked, one: Prepared, name: str, folder: str, limits: RunLimits, watched: _Watched) -> int:
    """The exit code of one program among several; a failure is said, and the next one runs."""
    try:
        with _figures_of_errors(asked, {"program": name, "status": "error"}):
            return _run(asked, one, name, folder, limits, watched)
    except KernBenchError as error:
        complain(f"error: {error if name in str(error) else f'{name}: {error}'}")
        return error.exit_code


@contextmanager
def _figures_of_errors(asked: Asked, told: Mapping[str, str] | None = None) -> Generator[None]:
    """Print with --json what is known of a program that fails: the figures of its error, else what is `told`."""
    try:
        yield
    except KernBenchError as error:
        figures = error.figures or (told and {**told, "error": str(error)})
        if asked.as_json and figures:
            click.echo(json.dumps(figures))
        raise


def _run(asked: Asked, one: Prepared, name: str, folder: str | None, limits: RunLimits, watched: _Watched) -> int:
    """Run a program and show what came out; returns the exit code. Errors: those of the run, RunError for wrong numbers."""
    with redirect_stdout(sys.stderr), progress() as watched.display:
        with limit_time(limits.time_s, lambda: tell_place(name, watched.stage)):
            result = one.run()
        summary = {**result.to_dict(), **_keep(asked, one, result, folder, watched.display)}
    if asked.as_json:
        click.echo(json.dumps(summary, default=str))
    else:
        _show(asked, one, result, summary)
    if result.verified is False:
        raise RunError("; ".join(result.mismatches))
    return 0


def _keep(asked: Asked, one: Prepared, result: RunResult, folder: str | None, display: Display) -> dict[str, Any]:
    """Explain a run and write its files, as far as is asked for; returns what that adds to the summary."""
    explanation, table, found = explain_result(result, display, explain=asked.explain, what_if=asked.what_if)
    if asked.energy:
        found["energy"] = result.tell_energy()
    files: dict[str, Any] = {}
    if asked.out is not None:
        display.say("writing the op log")
        out = asked.out / (folder or "")
        files = {**result.write(out, explanation, table), **_draw(one, result, out)}
        files |= write_forms(files, asked.forms)
        if folder is not None:
            write_directory(asked.out, result.write_beside)
    if asked.trace is not None:
        display.say("writing the trace")
        result.write_trace(asked.trace, asked.trace_filters)
        files["trace"] = str(asked.trace)
    return {"files": files, **found}


def _draw(one: Prepared, result: RunResult, out: Path) -> dict[str, str]:
    """The pictures of a run that its front-end has."""
    module = one.workload.record.pictures
    drawn: dict[str, str] = import_module(module).draw_run(result) if module else {}

    def write(partial: Path) -> None:
        for name, svg in drawn.items():
            (partial / f"{name}.svg").write_text(svg, encoding="utf-8")

    if drawn:
        write_directory(out, write)
    return {name: str(out / f"{name}.svg") for name in drawn}


def _show(asked: Asked, one: Prepared, result: RunResult, summary: dict[str, Any]) -> None:
    workload = one.workload
    settings = tell_settings(result.parameters, workload.defaults(result.parameters), result.overrides)
    say(f"{workload.title(result)} on {result.topology}, {result.mode} mode{settings}", bold=True)
    for number, table in enumerate(workload.tables(result)):
        if number:
            say()
        show(table)
    for sentence in result.warnings[:MOST_WARNINGS]:
        say(sentence)
    if more := result.warnings[MOST_WARNINGS:]:
        say(f"and {plural(len(more), 'warning')} more; --json has all")
    long = not asked.what_if and is_long(result.events)
    if "explain" in summary:
        show_explanation(summary["explain"], long=long)
    if "what_if" in summary:
        show_what_if(summary["what_if"])
    if "energy" in summary:
        show_energy(summary["energy"], of="the simulated launches" if result.network is not None else "")
    show_files(summary["files"])
