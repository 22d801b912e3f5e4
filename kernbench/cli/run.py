"""`kernbench run`: one bench on one machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.cli import completion, options
from kernbench.cli.bench_help import BenchCommand
from kernbench.cli.screen import say, show
from kernbench.errors import InputError, RunError, shorten
from kernbench.library import show_path
from kernbench.modes import RUN_MODES, Mode

if TYPE_CHECKING:
    from kernbench.cli.progress import Display
    from kernbench.runs.bench import Bench
    from kernbench.runs.result import RunResult


@click.command("run", cls=BenchCommand)
@click.argument("bench", shell_complete=completion.benches)
@options.TOPOLOGY
@options.mode("; analytic: bounds, without events", RUN_MODES)
@click.option("--verify-data", is_flag=True, help="Compute the numbers too, compare them with the bench's reference.")
@click.option("--live", is_flag=True, help="Run kernels step by step with their data, for those that branch on values.")
@click.option("--device", default="all", show_default=True, help="Which SIPs the bench may use: all or sip:N.")
@options.assignments("A bench parameter (M=256) or a topology field (topology.hbm.channel_gbs=64)")
@click.option(
    "--explain",
    is_flag=True,
    help="Say where the time went: critical path, what-if table (of runs below 260,000 events), utilisation, queueing, "
    "roofline; with credits, waiting in the network by link.",
)
@click.option(
    "--what-if", is_flag=True, help="Simulate each field of the topology twice as fast, however long it takes."
)
@options.TIME_LIMIT
@options.OP_LIMIT
@options.TRACE
@options.TRACE_FILTER
@options.AS_JSON
@options.out("Keep the op log, the machine and the result in this directory, for kernbench web.")
@options.FORMS
def command(
    bench: str,
    topology: str,
    mode: str,
    verify_data: bool,
    live: bool,
    device: str,
    assignments: tuple[str, ...],
    explain: bool,
    what_if: bool,
    time_limit: str | None,
    op_limit: int | None,
    trace: Path | None,
    trace_filters: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Run BENCH on a machine; say how long it takes, why so long and whether its numbers are right.

    BENCH is a name or an index of `kernbench list`, or a Python file; `kernbench run BENCH --help` explains its parameters.
    """
    from kernbench.cli.assignment import split_assignments
    from kernbench.cli.progress import progress
    from kernbench.cli.traces import check_outputs

    parameters, overrides = split_assignments(assignments)
    check_outputs(out, forms, trace, trace_filters)
    _check_events(mode, {"--explain": explain, "--what-if": what_if, "--trace": trace, "--out": out})
    with redirect_stdout(sys.stderr), progress() as display:  # keep prints of the bench out of the output
        display.say("reading the bench and the machine")
        from kernbench.limits.run_limits import read_limits
        from kernbench.limits.time_limit import limit_time
        from kernbench.runs.explanation import is_long
        from kernbench.runs.run import run_bench

        limits = read_limits(time_limit, op_limit)
        with limit_time(limits.time_s, lambda: f"bench {shorten(bench)!r}, compiling the machine"):
            found = _prepare(bench, topology, parameters, overrides, trace_filters)
        result = run_bench(
            found.run,
            topology,
            mode=mode,
            parameters=parameters,
            overrides=overrides,
            verify=verify_data,
            live=live,
            device=device,
            time_limit=time_limit,
            op_limit=op_limit,
            count_waits=explain,
            on_stage=display.say,
            on_progress=display.on_progress,
        )
        summary = {**result.to_dict(), **_keep(result, out, forms, explain, what_if, display)}
        if trace is not None:
            display.say("writing the trace")
            result.write_trace(trace, trace_filters)
            summary["files"] |= {"trace": str(trace)}
    if as_json:
        click.echo(json.dumps(summary))
    else:
        _show(summary, found, long=not what_if and is_long(result.events))
    if result.verified is False:
        raise RunError("; ".join(result.mismatches))


def _check_events(mode: str, options: Mapping[str, object]) -> None:
    """Errors: InputError for an option that is given and asks about events, in a mode that has none."""
    given = next((name for name, value in options.items() if value), None)
    if given and mode == Mode.ANALYTIC:
        raise InputError(f"{given} needs events, and analytic mode has none; use mode hybrid")


def _prepare(
    bench: str,
    topology: str,
    parameters: Mapping[str, str],
    overrides: Mapping[str, str],
    trace_filters: tuple[str, ...],
) -> Bench:
    """Load and check the bench, the machine and the parts of the trace, so that errors come before the long work.

    No other machine is taken unasked: a result is of the machine that was named, or of the one default.
    """
    from kernbench.cli.compiling import announce_compiling
    from kernbench.cli.traces import check_parts
    from kernbench.library import TANTO_TOPOLOGY
    from kernbench.machine import load_machine
    from kernbench.machine.setting_names import check_names
    from kernbench.runs.bench import find_bench, typed_parameters
    from kernbench.runs.bench_family import check_family

    found, command = find_bench(bench), f"kernbench run {bench} --topology {TANTO_TOPOLOGY}"
    try:
        check_names(parameters, found.parameters, topology, owner=f"bench {found.name!r}", option="--set")
        machine = load_machine(topology, overrides)
    except InputError:  # a machine of another family lacks the fields: say that instead
        check_family(found, topology, load_machine(topology).family, command)
        raise
    check_family(found, topology, machine.family, command)
    if trace_filters:
        machine = load_machine(topology, found.shape(typed_parameters(found, parameters), overrides))
        check_parts(machine, trace_filters)
    announce_compiling()
    return found


def _keep(
    result: RunResult, out: Path | None, forms: tuple[str, ...], explain: bool, what_if: bool, display: Display
) -> dict[str, Any]:
    """Explain a run and write its files, as far as is asked for; returns what that adds to the summary."""
    from kernbench.cli.explained import explain_result
    from kernbench.report.tables.table_files import write_forms

    explanation, table, found = explain_result(result, display, explain=explain, what_if=what_if)
    if out is None:
        return {"files": {}, **found}
    display.say("writing the op log")
    files = result.write(out, explanation, table)
    return {"files": {**files, **write_forms(files, forms)}, **found}


def _show(summary: dict[str, Any], found: Bench, *, long: bool) -> None:
    from kernbench.cli.outputs import show_files
    from kernbench.cli.summary import summary_table, tell_settings
    from kernbench.runs.bench import replaces_shipped

    where = f" ({show_path(found.file)})" if replaces_shipped(found) else ""
    settings = tell_settings(summary["parameters"], found.parameters, summary["overrides"])
    say(f"{summary['bench']}{where} on {summary['topology']}, {summary['mode']} mode{settings}", bold=True)
    show(summary_table(summary))
    for sentence in summary["warnings"]:
        say(sentence)
    if "explain" in summary:
        from kernbench.cli.explained import show_explanation

        show_explanation(summary["explain"], long=long)
    if "what_if" in summary:
        from kernbench.cli.explained import show_what_if

        show_what_if(summary["what_if"])
    show_files(summary["files"])
