"""`kernbench probe --pattern`: the latency–load curve of a pattern."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from kernbench.atomic_output import RESULT, write_directory, write_json
from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.files import check_directory
from kernbench.cli.output.network_waits import show_load_waits, show_network_waits
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say, show
from kernbench.cli.probe.effort import show_effort
from kernbench.machine import load_machine
from kernbench.report.figures.load_curve import plot_load_curve
from kernbench.report.tables.table_files import write_forms
from kernbench.text_table import Field, figures_table
from kernbench.traffic.curve import Curve, run_curve
from kernbench.traffic.injection_process import InjectionProcess
from kernbench.traffic.load_point import LoadPoint
from kernbench.traffic.loads import parse_loads
from kernbench.traffic.run import check_waits

MOST_SHOWN = 20  # links
CURVE, PLOT = "curve.parquet", "latency-load"

# Title and format of the fields that are shown.
COLUMNS = {
    "load": Field("load", "g"),
    "accepted": Field("accepted", ".3f"),
    "packets": Field("packets", ",d", rank=1),
    "latency_ns": Field("latency ns", ",.1f"),
    "p50_ns": Field("50 %", ",.1f", rank=2),
    "p99_ns": Field("99 %", ",.1f", rank=4),
    "max_ns": Field("longest", ",.1f", rank=3),
}


def probe_pattern(
    injection: InjectionProcess,
    load: str,
    topology: str,
    mode: str,
    overrides: Mapping[str, str],
    out: Path | None,
    forms: Sequence[str],
    as_json: bool,
    explain: bool,
) -> None:
    """Measure a pattern at each load; show the curve (and with `explain` what flits waited for), save it and its plot."""
    loads = parse_loads(load)
    out = out or Path("results", f"{Path(topology).stem}-{injection.pattern}")
    check_directory(out)
    machine = load_machine(topology, overrides)
    if explain:
        check_waits(machine)
    announce_compiling()
    with status_line() as tell:
        tell("simulating the first load")

        def show_point(point: LoadPoint) -> None:
            say(f"load {point.load:g}  {point.latency_ns:,.1f} ns", err=True)
            tell(f"simulating the load after {point.load:g}")

        curve = run_curve(machine, injection, loads, mode, show_point, count_waits=explain)
    _keep(curve, overrides, out, forms, as_json)


def _keep(curve: Curve, overrides: Mapping[str, str], out: Path, forms: Sequence[str], as_json: bool) -> None:
    files = list_files(out)
    summary: dict[str, Any] = {**curve.to_dict(), "overrides": overrides, "files": files}

    def write(partial: Path) -> None:
        curve.table().write_parquet(partial / CURVE)
        plot_load_curve(curve, partial / PLOT)
        write_json(summary, partial / RESULT)

    write_directory(out, write)
    files |= write_forms(files, forms)
    if as_json:
        click.echo(json.dumps(summary))
        return
    injection = curve.injection
    size = f"packets of {injection.packet_flits} flits, seed {injection.seed}"
    say(f"{injection.pattern} traffic on {curve.topology} ({curve.size}), {curve.mode} mode, {size}", bold=True)
    show(figures_table(summary["points"], COLUMNS))
    say(f"each packet alone {curve.zero_load_ns:,.3f} ns; {describe_saturation(curve)}")
    _show_waits(curve)
    show_effort(summary)


def _show_waits(curve: Curve) -> None:
    """Print what flits waited for at each load, and by link at the heaviest, if it was counted."""
    last = curve.points[-1]
    if last.waits is None:
        return
    rows = [{"load": point.load, **point.waits.per_packet} for point in curve.points if point.waits]
    show_load_waits(rows, {"load": COLUMNS["load"]})
    show_network_waits(
        last.waits.to_dict(),
        MOST_SHOWN,
        f"waiting in the network by link at load {last.load:g}, {last.waits.packets:,} packets",
    )


def list_files(out: Path) -> dict[str, str | list[str]]:
    """The files that a pattern leaves in a directory."""
    plots = [str(out / f"{PLOT}{suffix}") for suffix in (".svg", ".png")]
    return {"table": str(out / CURVE), "plots": plots, "result": str(out / RESULT)}


def describe_saturation(curve: Curve) -> str:
    """Where a curve saturates, in words."""
    if curve.saturation_load is None:
        return "not saturated at any of these loads"
    least = curve.points[0].load
    below = " or below, where none was measured" if curve.saturation_load == least else ""
    return f"saturated, with three times that, at load {curve.saturation_load:.3f}{below}"
