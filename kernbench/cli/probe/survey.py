"""`kernbench probe` without given traffic: the standard cases at all sizes, and the invariants."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.files import check_directory, show_files
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say, show
from kernbench.errors import RunError
from kernbench.machine import load_machine
from kernbench.report.figures.survey import plot_survey
from kernbench.report.tables.table_files import write_forms
from kernbench.text_table import Field, TextTable, figures_table
from kernbench.traffic.probe_cases import TITLES
from kernbench.traffic.probe_suite import REFERENCE_BYTES, Survey, run_survey
from kernbench.units import format_bytes

TABLE, PLOT = "probe.parquet", "utilisation"

# Title and format of the fields that are shown.
COLUMNS = {
    "name": Field("case"),
    "dst": Field("other end", rank=5),
    "hops": Field("hops", "d", rank=2),
    "via": Field("via", rank=1),
    "actual_ns": Field("actual ns", ",.3f"),
    "formula_ns": Field("formula ns =", ",.3f", rank=10),
    "wire_ns": Field("wire +", ",.3f", rank=6),
    "overhead_ns": Field("overhead +", ",.3f", rank=8),
    "routers_ns": Field("routers +", ",.3f", rank=7),
    "serialisation_ns": Field("serialisation +", ",.3f", rank=9),
    "commit_ns": Field("commit", ",.3f", rank=7),
    "effective_gbs": Field("effective GB/s", ",.1f", rank=3),
    "bottleneck_gbs": Field("bottleneck GB/s", ",.1f", rank=4),
    "utilisation": Field("busy", ".1%"),
}
OPTIONAL = ("via", "routers_ns")  # shown if a row has any
VERDICTS = {True: ("PASS", "green"), False: ("FAIL", "red"), None: ("n/a ", "yellow")}


def probe_survey(
    topology: str, mode: str, overrides: Mapping[str, str], out: Path | None, forms: Sequence[str], as_json: bool
) -> None:
    """Probe a machine with its standard cases. Errors: RunError if an invariant fails, after all results are shown."""
    if out is not None:
        check_directory(out)
    machine = load_machine(topology, overrides)
    announce_compiling()
    with status_line() as tell:
        survey = run_survey(machine, mode, lambda case: tell(f"{TITLES[case.family]}: {case.name}"))
    files = _keep(survey, overrides, out)
    files |= write_forms(files, forms)
    if as_json:
        click.echo(json.dumps({**survey.to_dict(), "overrides": overrides, "files": files}))
    else:
        _show(survey)
        show_files(files)
    if survey.failed:
        raise RunError("; ".join(f"{check.name}: {check.detail}" for check in survey.failed))


def _keep(survey: Survey, overrides: Mapping[str, str], out: Path | None) -> dict[str, Any]:
    if out is None:
        return {}
    plots = [str(out / f"{PLOT}{suffix}") for suffix in (".svg", ".png")]
    files = {"table": str(out / TABLE), "plots": plots, "result": str(out / RESULT)}

    def write(partial: Path) -> None:
        survey.table().write_parquet(partial / TABLE)
        plot_survey(survey, partial / PLOT)
        write_json({**survey.to_dict(), "overrides": overrides, "files": files}, partial / RESULT)

    write_directory(out, write)
    return files


def _show(survey: Survey) -> None:
    runs = f"{len(survey.summary)} cases, {len(survey.measured)} runs of one flow each"
    say(f"probe of {survey.topology}, {survey.mode} mode: {runs}", bold=True)
    for family, same in groupby(survey.summary, lambda one: one.case.family):
        rows = [one.to_dict() for one in same]
        say(f"\n{TITLES[family]}: {format_bytes(REFERENCE_BYTES)} from {rows[0]['src']}", bold=True)
        empty = {name for name in OPTIONAL if not any(row[name] for row in rows)}
        shown = {name: column for name, column in COLUMNS.items() if name not in empty}
        show(figures_table(rows, shown))
    say("\nutilisation of the bottleneck by size", bold=True)
    show(_sizes(survey))
    say("\ninvariants, over all sizes", bold=True)
    for check in survey.checks:
        verdict, colour = VERDICTS[check.passed]
        say(f"{verdict}  {check.name}", first=colour)
        say(f"      {check.detail}")
    _conclude(survey)


def _sizes(survey: Survey) -> TextTable:
    """One row for each case, one column for each size."""
    columns = {"family": Field("family"), "name": Field("case")}
    columns |= {str(one.nbytes): Field(format_bytes(one.nbytes), ".1%", rank=1) for one in survey.measured}
    rows: list[dict[str, Any]] = []
    for case, same in groupby(survey.measured, lambda one: one.case):
        row: dict[str, Any] = {"family": case.family, "name": case.name}
        rows.append(row | {str(one.nbytes): one.utilisation for one in same})
    return figures_table(rows, columns)


def _conclude(survey: Survey) -> None:
    checked = [check for check in survey.checks if check.passed is not None]
    if survey.ok:
        say(f"\nall {len(checked)} invariants hold", colour="green", bold=True)
    else:
        say(f"\n{len(survey.failed)} of {len(checked)} invariants FAIL", colour="red", bold=True)
