"""`kernbench pto`: task graphs on machines of family `ascend`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli import completion, options
from kernbench.cli.main import SuggestingGroup
from kernbench.cli.screen import say, show
from kernbench.errors import InputError, RunError, shorten, suggest
from kernbench.library import GRAPH_TOPOLOGY

if TYPE_CHECKING:
    from kernbench.cli.progress import Display
    from kernbench.pto.bench import BenchRun
    from kernbench.pto.launch import Outcome
    from kernbench.pto.results.summary import Summary
    from kernbench.pto.results.what_if import Rerun
    from kernbench.runs.explanation import Explanation

TOPOLOGY = click.option(
    "--topology",
    "-t",
    help="The machine: a name or a YAML file.  [default: ascend_910b2, or what the graph names]",
    shell_complete=completion.topologies,
)
WHAT_IF = click.option(
    "--what-if", is_flag=True, help="Simulate the run with each thing that may bound it twice as fast or large."
)
TRACE_FILTER = options.trace_filter("cluster0.*", "phase,block", "phase, block and counters")
CASE_VARIABLE = "PA_CASE"
FIELDS = "A field of the topology (topology.pto_runtime.task_window=16)"


@click.group("pto", cls=SuggestingGroup)
def command() -> None:
    """Run graphs of tasks on a machine of family ascend, with its runtime modelled to the task."""


@command.command("replay")
@click.argument("graph", type=click.Path(path_type=Path))
@TOPOLOGY
@options.mode()
@options.assignments(FIELDS)
@options.EXPLAIN
@WHAT_IF
@options.TRACE
@TRACE_FILTER
@options.AS_JSON
@options.out("Keep the swimlane, the figures and the run in this directory, for kernbench web.")
@options.FORMS
def replay_command(
    graph: Path,
    topology: str | None,
    mode: str,
    assignments: tuple[str, ...],
    explain: bool,
    what_if: bool,
    trace: Path | None,
    trace_filters: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Replay GRAPH, a JSON file of measured tasks: span, utilisation, stages, swimlane."""
    from kernbench.cli.assignment import read_fields
    from kernbench.cli.progress import progress

    overrides = read_fields(assignments)
    _check_outputs(out, forms, trace, trace_filters)
    with progress() as display:
        display.say("replaying the graph")
        from kernbench.cli.compiling import announce_compiling
        from kernbench.pto.replay import replay
        from kernbench.pto.results.summary import summarise
        from kernbench.pto.tasks.graph import load_graph
        from kernbench.runs.request import note_replay

        found = load_graph(graph)
        _check_parts(topology or found.machine, overrides, trace_filters)
        announce_compiling()
        outcome = replay(found, topology, overrides, mode)
        summary = summarise(outcome)
        told: dict[str, Any] = {
            "graph": str(graph),
            "topology": outcome.device.machine.name,
            **summary.to_dict(),
            **outcome.usage.to_dict(),
        }
        asked = _Asked(explain, what_if, out is not None)
        why = _explain(
            outcome, lambda fields, speed: replay(found, topology, {**overrides, **fields}, mode, speed), asked, display
        )
        kept = {
            "bench": str(graph),
            "topology": outcome.device.machine.name,
            "mode": mode,
            "parameters": {},
            "overrides": overrides,
            "request": note_replay(graph, topology or found.machine, outcome.device.machine),
        }
        title = f"{graph.stem} on {outcome.device.machine.name}"
        told |= why.told
        told["files"] = _keep(_ToKeep(outcome, told, kept, why.explanation, title), out, forms, trace, trace_filters)
    told |= why.explained
    if as_json:
        click.echo(json.dumps(told))
        return
    say(f"{graph} on {told['topology']}, {summary.tasks:,} tasks", bold=True)
    _show(summary, told)


@command.command("run")
@click.argument("bench", shell_complete=completion.task_graphs)
@click.option("--case", help="One of the bench's cases.  [default: its first]", shell_complete=completion.cases)
@click.option(
    "--runtime",
    help="host_build_graph, aicpu_build_graph or tensormap_and_ringbuffer.  [default: the bench's]",
    shell_complete=completion.runtimes,
)
@TOPOLOGY
@options.mode()
@options.assignments(f"A parameter of the case (batch=64), or a{FIELDS[1:]}")
@click.option("--no-data", is_flag=True, help="Compute no numbers, and compare none: times alone.")
@options.EXPLAIN
@WHAT_IF
@options.TIME_LIMIT
@options.TRACE
@TRACE_FILTER
@options.AS_JSON
@options.out("Keep the swimlane, the figures and the run in this directory, for kernbench web.")
@options.FORMS
def run_command(
    bench: str,
    case: str | None,
    runtime: str | None,
    topology: str | None,
    mode: str,
    assignments: tuple[str, ...],
    no_data: bool,
    explain: bool,
    what_if: bool,
    time_limit: str | None,
    trace: Path | None,
    trace_filters: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Run BENCH, an orchestration function with its kernels; say how long it takes and whether its numbers are right.

    BENCH is a file of benches/pto, by name or path, or a folder with kernel_config.py and golden.py.
    """
    from kernbench.cli.assignment import split_assignments
    from kernbench.cli.progress import progress
    from kernbench.cli.summary import tell_settings
    from kernbench.limits.run_limits import read_limits
    from kernbench.limits.time_limit import limit_time

    parameters, overrides = split_assignments(assignments)
    limits = read_limits(time_limit)
    _check_outputs(out, forms, trace, trace_filters)
    with redirect_stdout(sys.stderr), progress() as display:
        display.say("running the graph")
        again, fields = _prepare(bench, topology, case, runtime, mode, parameters, overrides)
        _check_parts(topology or GRAPH_TOPOLOGY, fields, trace_filters)
        with limit_time(limits.time_s, lambda: f"bench {shorten(bench)!r}"):
            run = again(overrides=fields, verify=not no_data)
        why = _explain(
            run.outcome,
            lambda changed, speed: again(overrides={**fields, **changed}, verify=False, speed=speed).outcome,
            _Asked(explain, what_if, out is not None),
            display,
        )
        told = _figures_of(run) | why.told
        chosen = case or _case(run.bench.cases)
        kept = _describe(run, chosen, topology, mode, fields)
        title = f"{run.bench.name} on {run.topology}"
        to_keep = _ToKeep(run.outcome, told, kept, why.explanation, title)
        told["files"] = _keep(to_keep, out, forms, trace, trace_filters)
    told |= why.explained
    settings = tell_settings(run.parameters, run.bench.parameters(chosen, {}), fields)
    _show_run(run, told, f", case {chosen}{settings}" if chosen else settings, as_json=as_json)


def _check_outputs(out: Path | None, forms: Sequence[str], trace: Path | None, filters: Sequence[str]) -> None:
    """Errors: as of `check_outputs`."""
    from kernbench.cli.traces import check_outputs
    from kernbench.pto.results.trace import KINDS

    check_outputs(out, forms, trace, filters, KINDS)


def _check_parts(topology: str, fields: Mapping[str, object], filters: Sequence[str]) -> None:
    """Check the parts that filters name, before the run. Errors: InputError, also of the machine."""
    if filters:
        from kernbench.cli.traces import check_parts
        from kernbench.machine import load_machine
        from kernbench.pto.results.trace import KINDS

        check_parts(load_machine(topology, fields), filters, KINDS)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is to be known of a run beside its figures."""

    explain: bool
    what_if: bool
    keep: bool


@dataclass(frozen=True, slots=True)
class _Why:
    """Why a run took as long as it did, as far as it was asked for; what that adds to its figures and to what is printed."""

    explanation: Explanation | None
    told: dict[str, Any]
    explained: dict[str, Any]


def _explain(outcome: Outcome, rerun: Rerun, asked: _Asked, display: Display) -> _Why:
    """The what-ifs of a run, which an explanation has too if the run is short, and the explanation."""
    from kernbench.pto.results.run_files import explain_graph
    from kernbench.pto.results.what_if import find_what_ifs
    from kernbench.runs.explanation import is_long
    from kernbench.runs.metrics import run_metrics

    what_ifs = None
    if asked.what_if or (asked.explain and not is_long(run_metrics(outcome.session, ())["events"])):
        display.say("running what-ifs")
        what_ifs = find_what_ifs(outcome, rerun)
    told = {"what_if": what_ifs.to_dict()} if asked.what_if and what_ifs else {}
    explanation = explain_graph(outcome, what_ifs, rerun) if asked.explain or asked.keep else None
    explained = {"explain": explanation.to_dict()} if asked.explain and explanation else {}
    return _Why(explanation, told, explained)


def _prepare(
    bench: str,
    topology: str | None,
    case: str | None,
    runtime: str | None,
    mode: str,
    parameters: Mapping[str, str],
    overrides: dict[str, str],
) -> tuple[Callable[..., BenchRun], dict[str, object]]:
    """A function that runs the bench on fields of the topology, and the fields that the user has set."""
    from kernbench.cli.compiling import announce_compiling
    from kernbench.pto.bench import find_bench, run_bench
    from kernbench.pto.settings import read_environment

    found = find_bench(bench)
    fields = read_environment(os.environ) | overrides
    announce_compiling()
    again = partial(
        run_bench,
        found,
        topology or GRAPH_TOPOLOGY,
        case=case or _case(found.cases),
        parameters=parameters,
        backend=runtime,
        mode=mode,
    )
    return again, fields


def _figures_of(run: BenchRun) -> dict[str, Any]:
    """What is told of a run, as plain values."""
    from kernbench.pto.results.summary import summarise

    return {
        "bench": run.bench.name,
        "topology": run.topology,
        "runtime": run.outcome.backend.value,
        "parameters": dict(run.parameters),
        "clusters": run.clusters,
        "block_dim": run.bench.runtime.get("block_dim"),
        "verified": run.verified,
        "mismatches": list(run.mismatches),
        **summarise(run.outcome).to_dict(),
        **run.outcome.usage.to_dict(),
        **run.host_copies_us(),
        "shared_memory_bytes": run.outcome.device.settings.shared_memory_bytes,
    }


def _show_run(run: BenchRun, told: Mapping[str, Any], settings: str, *, as_json: bool) -> None:
    """Print a run, with what was set. Errors: RunError if its numbers are wrong."""
    from kernbench.pto.results.summary import summarise

    if as_json:
        click.echo(json.dumps(told, default=str))
    else:
        say(f"{told['bench']} on {run.topology}, {told['runtime']}{settings}", bold=True)
        _show(summarise(run.outcome), told)
    if run.verified is False:
        raise RunError("; ".join(run.mismatches))


@command.command("sweep")
@click.argument("grid", shell_complete=completion.graph_sweeps)
@options.AS_JSON
@options.out("Keep the table in this directory.  [default: results/pto-<name of the grid>]")
@options.FORMS
def sweep_command(grid: str, as_json: bool, out: Path | None, forms: tuple[str, ...]) -> None:
    """Run a bench at every point of GRID, a file of sweeps/pto by name or path; keep a table.

    A parameter is one of the bench's, case, runtime, or a field of the topology; numbers are not compared.
    """
    from kernbench.cli.outputs import check_directory
    from kernbench.cli.progress import progress

    with redirect_stdout(sys.stderr), progress() as display:
        from kernbench.cli.compiling import announce_compiling
        from kernbench.sweep.task_graphs import load_task_graph_grid, run_task_graphs

        found = load_task_graph_grid(grid)
        out = out or Path("results", f"pto-{found.name}")
        check_directory(out)
        announce_compiling()
        table = run_task_graphs(found, lambda done, of: display.say(f"{done} of {of} points"))
    from kernbench.atomic_output import write_directory, write_parquet
    from kernbench.report.tables.table_files import write_forms

    write_directory(out, lambda partial: write_parquet(table, partial / "table.parquet"))
    files = {"table": str(out / "table.parquet")}
    files |= write_forms(files, forms)
    if as_json:
        click.echo(json.dumps({"grid": found.name, "rows": table.to_dicts(), **files}))
        return
    from kernbench.cli.outputs import show_files
    from kernbench.cli.pto_tables import sweep_table, tell_shortest

    say(f"{found.description or found.name}, {len(table)} points", bold=True)
    show(sweep_table(table.to_dicts()))
    say()
    for line in tell_shortest(table.to_dicts(), [axis.name for axis in found.axes]):
        say(line)
    show_files(files)


def _case(cases: Mapping[str, object]) -> str | None:
    """The case that the variable of the runtime names. Errors: InputError if the bench does not have it."""
    named = os.environ.get(CASE_VARIABLE)
    if named is not None and named not in cases:
        raise InputError(
            f"{CASE_VARIABLE}={shorten(named)} names no case of the bench{suggest(named, cases)}; unset it, or give --case"
        )
    return named


def _describe(
    run: BenchRun, case: str | None, topology: str | None, mode: str, fields: Mapping[str, object]
) -> dict[str, Any]:
    """What a run was, and what it was asked for, as `result.json` has it."""
    from kernbench.runs.request import note_graph

    chosen = case or run.bench.default_case
    return {
        "bench": run.bench.name,
        "topology": run.topology,
        "mode": mode,
        "parameters": {"case": chosen, "runtime": run.outcome.backend.value, **run.parameters},
        "overrides": {name: str(value) for name, value in fields.items()},
        "verified": run.verified,
        "mismatches": list(run.mismatches),
        "request": note_graph(
            run.bench.file, topology or GRAPH_TOPOLOGY, run.bench.sources, run.outcome.device.machine
        ),
    }


@dataclass(frozen=True, slots=True)
class _ToKeep:
    """A run as it is kept: its figures, what it was, why it took so long, and the title of its swimlane."""

    outcome: Outcome
    told: Mapping[str, Any]
    kept: Mapping[str, Any]
    explanation: Explanation | None  # None: it is not kept in a directory
    title: str


def _keep(
    run: _ToKeep, out: Path | None, forms: Sequence[str], trace: Path | None, filters: Sequence[str]
) -> dict[str, str]:
    """Write the files of a run; returns their paths."""
    from kernbench.report.tables.table_files import write_forms

    files = {} if out is None or run.explanation is None else _keep_directory(run, run.explanation, out)
    files |= write_forms(files, forms)
    if trace is not None:
        from kernbench.pto.results.trace import write_trace

        write_trace(run.outcome, trace, filters)
        files["trace"] = str(trace)
    return files


def _keep_directory(run: _ToKeep, explanation: Explanation, out: Path) -> dict[str, str]:
    from kernbench.atomic_output import write_json, write_parquet
    from kernbench.pto.results.run_files import write_graph_run
    from kernbench.pto.results.summary import occupancy_table
    from kernbench.report.diagram.swimlane import draw_swimlane

    def write(partial: Path) -> None:
        (partial / "swimlane.svg").write_text(draw_swimlane(run.outcome, run.title), encoding="utf-8")
        write_json(run.told, partial / "summary.json")
        write_parquet(occupancy_table(run.outcome), partial / "occupancy.parquet")

    names = {"swimlane": "swimlane.svg", "summary": "summary.json", "occupancy": "occupancy.parquet"}
    files = {name: str(out / file) for name, file in names.items()}
    return files | write_graph_run(run.outcome, run.kept, explanation, out, write)


def _show(summary: Summary, told: Mapping[str, Any]) -> None:
    from kernbench.cli.outputs import show_files
    from kernbench.cli.pto_tables import stage_table, summary_table, thread_table

    tables = [summary_table(summary, told), stage_table(summary), thread_table(summary)]
    for number, table in enumerate(tables):
        if number:
            say()
        show(table)
    if "explain" in told:
        from kernbench.cli.explained import show_explanation

        show_explanation(told["explain"], long=told["explain"]["what_if"] is None, lines=False)
    elif "what_if" in told:
        from kernbench.cli.explained import show_what_if

        show_what_if(told["what_if"])
    say()
    show_files(told["files"])
