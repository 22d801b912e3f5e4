"""`kernbench probe --flow` and `--flows`: run given flows and show their latencies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path

import click

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.files import check_directory
from kernbench.cli.output.network_waits import show_network_waits
from kernbench.cli.output.progress import progress
from kernbench.cli.output.screen import say, show
from kernbench.cli.output.traces import check_parts, check_trace
from kernbench.cli.probe.effort import show_effort
from kernbench.machine import load_machine
from kernbench.report.tables.table_files import write_forms
from kernbench.text import plural
from kernbench.text_table import Field, figures_table
from kernbench.traffic.flow_file import read_flows
from kernbench.traffic.flows import Flows, parse_flows
from kernbench.traffic.run import FlowResult, run_flows
from kernbench.traffic.trace import FinishedFlows, write_trace

MOST_SHOWN = 20  # flows; of more, the slowest
FLOWS = "flows.parquet"

# Title and format of the fields that are shown.
COLUMNS = {
    "id": Field("id", "d"),
    "src": Field("source"),
    "dst": Field("destination"),
    "bytes": Field("bytes", ",d", rank=4),
    "hops": Field("hops", "d", rank=3),
    "start_ns": Field("start ns", ",.3f", rank=1),
    "end_ns": Field("end ns", ",.3f", rank=2),
    "latency_ns": Field("latency ns", ",.3f"),
    "effective_gbs": Field("GB/s", ",.1f"),
}

ARRIVAL_COLUMNS = {
    "id": COLUMNS["id"],
    "dst": COLUMNS["dst"],
    "arrival_ns": Field("arrival ns", ",.3f"),
    "latency_ns": COLUMNS["latency_ns"],
}


def probe_flows(
    texts: Sequence[str],
    file: Path | None,
    topology: str,
    mode: str,
    overrides: Mapping[str, str],
    out: Path | None,
    forms: Sequence[str],
    as_json: bool,
    explain: bool,
    trace: Path | None = None,
    trace_filters: Sequence[str] = (),
) -> None:
    """Run flows given as texts or in a file; show and save the results."""
    if out is not None:
        check_directory(out)
    check_trace(trace, trace_filters)
    flows = _read_flows(texts, file)
    machine = load_machine(topology, overrides)
    check_parts(machine, trace_filters)

    def keep(run: FinishedFlows) -> None:
        if trace is not None:
            display.say("writing the trace")
            write_trace(run, trace, trace_filters)

    announce_compiling()
    with progress() as display:
        result = run_flows(machine, flows, mode, display.on_progress, count_waits=explain, on_finished=keep)
    _keep(result, overrides, {} if trace is None else {"trace": str(trace)}, out, forms, as_json)


def _read_flows(texts: Sequence[str], file: Path | None) -> Flows:
    return parse_flows(texts) if file is None else read_flows(file)


def _keep(
    result: FlowResult,
    overrides: Mapping[str, str],
    files: dict[str, str],
    out: Path | None,
    forms: Sequence[str],
    as_json: bool,
) -> None:
    if out is not None:
        files |= {"flows": str(out / FLOWS), "result": str(out / RESULT)}
    summary, table = {**result.to_dict(), "overrides": overrides, "files": files}, result.table()
    if out is not None:

        def write(partial: Path) -> None:
            table.write_parquet(partial / FLOWS)
            write_json(summary, partial / RESULT)

        write_directory(out, write)
        files |= write_forms(files, forms)
    if as_json:
        click.echo(
            f'{{"flows": {table.write_json()}, {json.dumps(summary)[1:]}'
        )  # `json` would take a second for 300,000
        return
    shown = table if len(table) <= MOST_SHOWN else table.sort("latency_ns", descending=True).head(MOST_SHOWN)
    of = "" if len(table) <= MOST_SHOWN else f"; the {MOST_SHOWN} slowest"
    say(f"{plural(len(table), 'flow')} on {result.topology}, {result.mode} mode{of}", bold=True)
    show(figures_table(shown.to_dicts(), COLUMNS))
    if arrivals := result.list_arrivals():
        slowest = sorted(arrivals, key=itemgetter("latency_ns"), reverse=True)[:MOST_SHOWN]
        of = "" if len(slowest) == len(arrivals) else f"; the {MOST_SHOWN} slowest"
        say(f"{plural(len(arrivals), 'arrival')} of multicasts{of}", bold=True)
        show(figures_table(arrivals if not of else slowest, ARRIVAL_COLUMNS))
    if result.network is not None:
        show_network_waits(result.network.to_dict(), MOST_SHOWN)
    show_effort(summary)
