"""What `kernbench evaluate` does: it runs the cases of an evaluation, keeps its table, checks and draws it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
import polars

from kernbench.api.evaluate import EvaluationResult, check_measured, evaluate, plot_evaluation
from kernbench.api.evaluations import Evaluation, find_evaluation, find_part, read_settings
from kernbench.atomic_output import unreadable
from kernbench.cli.names.assignment import split_assignments
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.files import check_directory, show_files
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say, show
from kernbench.errors import InputError, RunError
from kernbench.report.tables.table_files import write_forms
from kernbench.sealing import read_sealed_parquet
from kernbench.text_table import figures_table


def run_evaluation(
    name: str,
    topology: str | None,
    mode: str,
    verify_data: bool,
    assignments: tuple[str, ...],
    data_only: bool,
    figures_only: bool,
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Run an evaluation or read its table, show it and draw it. Errors: RunError for what must hold and does not."""
    found = find_evaluation(name)
    if data_only and figures_only:
        raise InputError("--data-only and --figures-only leave nothing to do; give one of them")
    out = out or Path("results", name)
    if figures_only:
        files = _draw(name, _read(out / f"{name}.parquet"), out)
        _report({"evaluation": name, "files": files}, as_json)
        return
    result = _evaluate(name, found, topology, mode, verify_data, assignments, out)
    rows = result.table.to_dicts()
    files: dict[str, Any] = dict(result.write(out))
    files |= write_forms(files, forms)
    if not data_only:
        files |= _draw(name, result.table, out)
    checked: dict[str, Any] = {"violations": list(result.violations)} if found.check else {}
    if found.summary:
        checked["summary"] = find_part(found.summary)(result.table)
    if not as_json:
        show(figures_table(rows, found.shown, whole=f"in {name}.parquet"))
        if found.summary:
            say(checked["summary"])
    _report({"evaluation": name, "rows": rows, "files": files, **checked}, as_json)
    if result.violations:
        raise RunError("; ".join(result.violations))


def _evaluate(
    name: str, found: Evaluation, topology: str | None, mode: str, verify: bool, assignments: tuple[str, ...], out: Path
) -> EvaluationResult:
    """Run an evaluation, with a line for each run."""
    check_measured(mode)
    given, overrides = split_assignments(assignments)
    settings = read_settings(name, given, topology or found.topology, "--set")
    check_directory(out)
    announce_compiling()
    with status_line() as tell:
        tell("running the first case")

        def show_row(row: Mapping[str, Any]) -> None:
            text = found.progress.format(**row)
            say(text, err=True)
            tell(f"running the case after {text}")

        return evaluate(
            name, topology, settings=settings, overrides=overrides, mode=mode, verify=verify, on_row=show_row
        )


def _read(path: Path) -> polars.DataFrame:
    try:
        return read_sealed_parquet(path)
    except (OSError, *unreadable()):
        raise InputError(
            f"there is no table {path}; run `kernbench evaluate {path.stem}` first, or give its --out"
        ) from None


def _draw(name: str, table: polars.DataFrame, out: Path) -> dict[str, Any]:
    with status_line() as tell:
        tell("drawing the figures")
        return {"figures": [str(path) for path in plot_evaluation(name, table, out)]}


def _report(summary: dict[str, Any], as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary))
        return
    show_files(summary["files"])
