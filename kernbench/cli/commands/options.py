"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from kernbench.cli.names import completion
from kernbench.cli.names.catalogue import KINDS
from kernbench.frontends.benches import FRONT_END
from kernbench.modes import EVENT_MODES, Mode

Option = Callable[[Callable[..., Any]], Callable[..., Any]]

AS_JSON: Option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
TOPOLOGY: Option = click.option(
    "--topology",
    "-t",
    default=FRONT_END.machine,
    show_default=True,
    help="The machine: a name or a YAML file.",
    shell_complete=completion.topologies,
)


def mode(more: str = "", known: Sequence[Mode] = EVENT_MODES) -> Option:
    """The option `--mode`; `more` describes those of the known modes that are neither hybrid nor flit."""
    text = f"hybrid or flit: the same times, found in two ways{more}."
    return click.option(
        "--mode", default="hybrid", show_default=True, help=text, shell_complete=completion.modes(known)
    )


KIND: Option = click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="Only what is of this kind.",
)
TIME_LIMIT: Option = click.option(
    "--time-limit",
    metavar="TIME",
    help="End a run that takes longer: seconds, or 10 min, 2 h.  [default: none, but 10 min for a kernel]",
)
OP_LIMIT: Option = click.option(
    "--op-limit", type=int, help="End a run of more operations.  [default: what free memory holds]"
)


TRACE: Option = click.option(
    "--trace",
    "trace",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write a trace of the run to this file; open it at https://ui.perfetto.dev.",
)


TRACE_FILTER: Option = click.option(
    "--trace-filter",
    "trace_filters",
    multiple=True,
    metavar="KEY=VALUE",
    help="Of a trace: part=sip0.cube0.pe*, kind=memory,gemm (of memory, gemm, math, control, path and counters; of task "
    "graphs phase, block and counters) or time=1us..2us; may be repeated.",
)


def _read_forms(_context: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[str, ...]:
    from kernbench.report.tables.table_files import read_forms

    return () if text is None else read_forms(text)


FORMS: Option = click.option(
    "--format",
    "forms",
    callback=_read_forms,
    metavar="csv,md",
    help="Keep each table also as CSV, with all digits, or as Markdown, beside the parquet.",
)


def assignments(text: str) -> Option:
    """The option `--set`, for `split_assignments`; `text` says what may be set."""
    return click.option(
        "--set",
        "assignments",
        multiple=True,
        metavar="PATH=VALUE",
        help=f"{text}; may be repeated.",
        shell_complete=completion.assignments,
    )


def out(text: str) -> Option:
    """The option `--out`, a directory for files; `text` says what is written there."""
    return click.option("--out", "--output", "out", type=click.Path(path_type=Path), help=text)
