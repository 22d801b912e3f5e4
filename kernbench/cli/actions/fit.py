"""What `kernbench fit` does: it fits a machine to measured times, shows the figures and writes the machine."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from pathlib import Path

import click

from kernbench.cli.names.assignment import read_fields
from kernbench.cli.output.files import check_file
from kernbench.cli.output.progress import progress
from kernbench.cli.output.screen import say, show, show_first
from kernbench.fitting.fit import FitResult, check_machine_file, fit_machine
from kernbench.text import plural
from kernbench.text_table import Field, figures_table

MOST_SHOWN = 5  # rows of the data: those that are furthest off


def fit(
    machine: str,
    data: Path,
    fields: tuple[str, ...],
    assignments: tuple[str, ...],
    workers: int | None,
    time_limit: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Fit a machine, show it and write it."""
    overrides = read_fields(assignments)
    if out is not None:
        check_file(check_machine_file(out), "--out")
    with redirect_stdout(sys.stderr), progress() as display:
        found = fit_machine(
            machine,
            data,
            fields=fields,
            overrides=overrides,
            workers=workers,
            time_limit=time_limit,
            on_stage=display.say,
        )
    if out is not None:
        found.write(out)
    if as_json:
        click.echo(json.dumps({**found.to_dict(), "files": {} if out is None else {"machine": str(out)}}))
        return
    _show(found, out)


def _show(found: FitResult, out: Path | None) -> None:
    rows = plural(len(found.measured.rows), "point")
    say(f"{found.topology.stem} fitted to {rows} of {found.measured.file}, {found.runs:,} runs", bold=True)
    if found.figures:
        columns = {
            "field": Field("figure"),
            "before": Field("before", ",.6g"),
            "value": Field("fitted", ",.6g"),
            "unit": Field("unit"),
            "uncertainty": Field("±", ".1%"),
            "range": Field("range"),
        }
        figures = [{**one.to_dict(), "range": f"{one.low:.6g} … {one.high:.6g}"} for one in found.figures]
        show(figures_table(figures, columns))
    say()
    errors = {"before": found.before, "fitted": found.after, "held out": found.held_out}
    table = [{"error": name, **one.to_dict()} for name, one in errors.items() if one is not None]
    show(figures_table(table, {"error": Field("error"), "mean": Field("mean", ".2%"), "worst": Field("worst", ".2%")}))
    for title, some in (("not determined", found.undetermined), ("not moved", found.left_out)):
        if some:
            say(f"\n{title}", bold=True)
            show(figures_table([one._asdict() for one in some], {"field": Field("figure"), "why": Field("why")}))
    say(f"\nthe {MOST_SHOWN} rows that are furthest off", bold=True)
    off = [{**one, "off": one["simulated_ns"] / one["measured_ns"] - 1} for one in found.to_dict()["rows"]]
    off.sort(key=lambda one: -abs(one["off"]))
    lines = {
        "line": Field("line", "d"),
        "measured_ns": Field("measured ns", ",.1f"),
        "simulated_ns": Field("simulated ns", ",.1f"),
        "off": Field("off", "+.1%"),
    }
    show_first(off[:MOST_SHOWN], lines, MOST_SHOWN)
    for sentence in found.remarks:
        say(f"\n{sentence}")
    say(f"\nwrote {out}" if out else "\n--out FILE.yaml writes the machine")
