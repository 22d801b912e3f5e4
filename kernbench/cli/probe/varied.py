"""`kernbench probe --pattern … --vary FIELD=VALUE,VALUE`: latency–load curves of machines that differ in one field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import polars

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.files import check_directory, show_files
from kernbench.cli.output.network_waits import show_load_waits
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say, show
from kernbench.cli.probe.pattern import CURVE, PLOT, describe_saturation, list_files
from kernbench.errors import InputError, shorten
from kernbench.machine import load_machine
from kernbench.report.figures.load_curve import plot_load_curves
from kernbench.report.tables.table_files import write_forms
from kernbench.text_table import Field, figures_table
from kernbench.traffic.curve import Curve, run_curve
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.load_point import LoadPoint
from kernbench.traffic.loads import parse_loads
from kernbench.traffic.run import check_waits

MOST = 7  # lines of a plot that can be told apart


def split_vary(text: str, overrides: Mapping[str, str]) -> tuple[str, list[str]]:
    """The field and its values of `--vary FIELD=VALUE,VALUE`. Errors: InputError."""
    name, equals, rest = text.partition("=")
    name, values = name.strip().removeprefix("topology."), [value.strip() for value in rest.split(",")]
    if not (name and equals and all(values) and 1 < len(values) <= MOST and len(set(values)) == len(values)):
        raise InputError(
            f"--vary takes a field and two to {MOST} values that differ, such as flow_control=unbounded,credit, "
            f"and got {shorten(repr(text))}"
        )
    if name in overrides:
        raise InputError(f"--vary and --set both give {name}; leave one of them out")
    return name, values


def probe_varied(
    injection: InjectionProcess,
    load: str,
    topology: str,
    mode: str,
    overrides: Mapping[str, str],
    vary: str,
    out: Path | None,
    forms: Sequence[str],
    as_json: bool,
    explain: bool,
) -> None:
    """Measure a pattern at each load on each of the machines; show the curves side by side, save them and their plot.

    With `explain` it says what flits waited for.
    """
    field, values = split_vary(vary, overrides)
    loads = parse_loads(load)
    out = out or Path("results", f"{Path(topology).stem}-{injection.pattern}-{field}")
    check_directory(out)
    machines = [load_machine(topology, {**overrides, field: value}) for value in values]
    if explain:
        for machine in machines:
            check_waits(machine)
    announce_compiling()
    curves: list[Curve] = []
    with status_line() as tell:
        for value, machine in zip(values, machines, strict=True):
            tell(f"simulating {field}={value}")

            def show_point(point: LoadPoint, value: str = value) -> None:
                say(f"{field}={value}  load {point.load:g}  {point.latency_ns:,.1f} ns", err=True)

            curves.append(run_curve(machine, injection, loads, mode, show_point, count_waits=explain))
    _keep(field, values, curves, overrides, out, forms, as_json)


def _keep(
    field: str,
    values: Sequence[str],
    curves: Sequence[Curve],
    overrides: Mapping[str, str],
    out: Path,
    forms: Sequence[str],
    as_json: bool,
) -> None:
    files = list_files(out)
    summary: dict[str, Any] = {
        "field": field,
        "curves": [{"value": value, **curve.to_dict()} for value, curve in zip(values, curves, strict=True)],
        "overrides": overrides,
        "files": files,
    }

    def write(partial: Path) -> None:
        _table(field, values, curves).write_parquet(partial / CURVE)
        plot_load_curves(field, values, curves, partial / PLOT)
        write_json(summary, partial / RESULT)

    write_directory(out, write)
    files |= write_forms(files, forms)
    if as_json:
        click.echo(json.dumps(summary))
    else:
        _show(field, values, curves)
        show_files(files)


def _show(field: str, values: Sequence[str], curves: Sequence[Curve]) -> None:
    """Print the latencies by load and value, and what each curve ends at and waits for."""
    curve = curves[0]
    size = f"packets of {curve.injection.packet_flits} flits, seed {curve.injection.seed}"
    say(
        f"{curve.injection.pattern} traffic on {curve.topology} ({curve.size}), {curve.mode} mode, {size}: "
        f"mean latency (ns) by {field}",
        bold=True,
    )
    rows = [
        {"load": points[0].load, **{value: point.latency_ns for value, point in zip(values, points, strict=True)}}
        for points in zip(*(curve.points for curve in curves), strict=True)
    ]
    show(figures_table(rows, {"load": Field("load", "g"), **{value: Field(value, ",.1f") for value in values}}))
    for value, curve in zip(values, curves, strict=True):
        say(f"{field}={value}: each packet alone {curve.zero_load_ns:,.3f} ns; {describe_saturation(curve)}")
    waits = [
        {"value": value, "load": point.load, **point.waits.per_packet}
        for value, curve in zip(values, curves, strict=True)
        for point in curve.points
        if point.waits
    ]
    if waits:
        show_load_waits(waits, {"value": Field(field), "load": Field("load", "g")})


def _table(field: str, values: Sequence[str], curves: Sequence[Curve]) -> polars.DataFrame:
    """The tables of all curves, with a column of the field."""
    tables = [
        curve.table().select(polars.lit(value).alias(field), polars.all())
        for value, curve in zip(values, curves, strict=True)
    ]
    return polars.concat(tables)
