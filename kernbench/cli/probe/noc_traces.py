"""`kernbench probe --noc-trace`: replay traces of a chip's networks beside what they measured."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.files import check_directory, show_files
from kernbench.cli.output.network_waits import show_network_waits
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import complain, say, show
from kernbench.errors import InputError
from kernbench.report.tables.table_files import write_forms
from kernbench.text_table import Field, figures_table
from kernbench.traffic.noc_trace.replays import TOPOLOGY, NocReplays, replay_traces

MOST_LINKS = 8  # of one trace
TABLE = "noc_traces.parquet"

# Title and format of the fields that are shown.
COLUMNS = {
    "name": Field("trace"),
    "events": Field("events", ",d", rank=1),
    "simulated_cycles": Field("simulated cycles", ",.0f"),
    "trace_cycles": Field("in the trace", ",d"),
    "error": Field("error", "+.1%"),
    "barrier_error": Field("barriers", ".1%", rank=2),
    "turn_ns": Field("turns of replies ns", ",.0f", rank=3),
    "waiting_ns": Field("waiting ns", ",.0f", rank=4),
    "busiest_link": Field("most at", rank=7),
}


def probe_noc_traces(
    paths: Sequence[Path],
    topology: str | None,
    mode: str,
    overrides: Mapping[str, str],
    out: Path | None,
    forms: Sequence[str],
    as_json: bool,
    closed_loop: bool,
) -> None:
    """Replay traces; show and save the results. Errors: InputError if a trace cannot be replayed, after the others."""
    if out is not None:
        check_directory(out)
    announce_compiling()
    with status_line() as tell:
        found = replay_traces(
            paths,
            topology or TOPOLOGY,
            overrides=overrides,
            mode=mode,
            closed_loop=closed_loop,
            on_done=lambda done: tell(
                "replaying the next trace" if isinstance(done, InputError) else f"{done.file.name} is done"
            ),
        )
    files = _keep(found, overrides, out, forms) if found.replays else {}
    if as_json and found.replays:
        click.echo(json.dumps({**found.to_dict(), "overrides": overrides, "files": files}))
    elif found.replays:
        _show(found)
        say(found.summary)
        show_files(files)
    if not found.replays and len(found.errors) == 1:
        raise found.errors[0]
    for error in found.errors:
        complain(f"error: {error}")
    if failed := len(found.errors):
        raise InputError(f"{failed} of {failed + len(found.replays)} traces cannot be replayed, as said above")


def _keep(found: NocReplays, overrides: Mapping[str, str], out: Path | None, forms: Sequence[str]) -> dict[str, Any]:
    if out is None:
        return {}
    files: dict[str, Any] = {"table": str(out / TABLE), "result": str(out / RESULT)}

    def write(partial: Path) -> None:
        found.table().write_parquet(partial / TABLE)
        write_json({**found.to_dict(), "overrides": overrides, "files": files}, partial / RESULT)

    write_directory(out, write)
    return files | write_forms(files, forms)


def _show(found: NocReplays) -> None:
    first, *others = found.replays
    loop = "closed loop" if first.closed_loop else "issue times of the trace"
    say(f"NoC traces on {first.topology}, {first.mode} mode, {loop}", bold=True)
    rows = [{**one.to_row(), "name": one.file.stem} for one in found.replays]
    known = {name: field for name, field in COLUMNS.items() if any(row.get(name) is not None for row in rows)}
    show(figures_table(rows, known))
    if not others and first.network is not None:
        show_network_waits(first.network.to_dict(), MOST_LINKS)
