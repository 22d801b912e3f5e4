"""`kernbench probe`: traffic over a machine, without kernels."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from kernbench.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from kernbench.traffic.curve import Curve
    from kernbench.traffic.flows import Flows
    from kernbench.traffic.run import FlowResult

MOST_SHOWN = 20  # flows; of more, the slowest
FLOWS, CURVE, PLOT = "flows.parquet", "curve.parquet", "latency-load"

# Title and format of the fields that are shown; texts have no format.
FLOW_COLUMNS = {
    "id": ("id", "d"),
    "src": ("source", ""),
    "dst": ("destination", ""),
    "bytes": ("bytes", ",d"),
    "hops": ("hops", "d"),
    "start_ns": ("start ns", ",.3f"),
    "end_ns": ("end ns", ",.3f"),
    "latency_ns": ("latency ns", ",.3f"),
    "effective_gbs": ("GB/s", ",.1f"),
}
POINT_COLUMNS = {
    "load": ("load", "g"),
    "accepted": ("accepted", ".3f"),
    "packets": ("packets", ",d"),
    "latency_ns": ("latency ns", ",.1f"),
    "p50_ns": ("50 %", ",.1f"),
    "p99_ns": ("99 %", ",.1f"),
    "max_ns": ("longest", ",.1f"),
}


@click.command("probe")
@click.option(
    "--flow",
    "texts",
    multiple=True,
    metavar="SRC:DST:BYTES[:read|write][@START_NS]",
    help="One flow, such as host:sip0.cube3.pe5:64KiB or node[0][0]:node[3][4]:4KiB@100; may be repeated.",
)
@click.option(
    "--flows",
    "file",
    type=click.Path(path_type=Path),
    help="Flows from a CSV file with the columns src, dst, bytes, start_ns and, if you like, kind.",
)
@click.option("--pattern", help="uniform, transpose, bitcomp, hotspot, neighbor or tornado, on a mesh.")
@click.option(
    "--load",
    default="0.05:0.6:0.05",
    show_default=True,
    metavar="FIRST:LAST:STEP",
    help="Of a pattern: the loads, as fractions of what an endpoint can inject; or numbers with commas.",
)
@click.option("--packet-flits", default=4, show_default=True, help="Of a pattern: flits in a packet.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of a pattern: which packets.")
@click.option("--window", default=10_000, show_default=True, help="Of a pattern: flit times that are measured.")
@click.option("--topology", "-t", default="sip_2x4x4", show_default=True, help="The machine: a name or a YAML file.")
@click.option("--mode", default="hybrid", show_default=True, help="hybrid or flit: the same times, found in two ways.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="PATH=VALUE",
    help="A topology field (link_gbs=128, with or without topology. before it); may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Keep the table in this directory; a pattern's also as a plot.  [default of a pattern: results/<topology>-<pattern>]",
)
def command(
    texts: tuple[str, ...],
    file: Path | None,
    pattern: str | None,
    load: str,
    packet_flits: int,
    seed: int,
    window: int,
    topology: str,
    mode: str,
    assignments: tuple[str, ...],
    as_json: bool,
    out: Path | None,
) -> None:
    """Send traffic over a machine and say when it arrives.

    Give --flow as often as you like, or --flows, or --pattern. A part is named by its path; a PE sends by its DMA and
    receives in its slice of HBM; host is the host of the other part's SIP; a node of a mesh is node[y][x] or its index.
    """
    from kernbench.cli.assignment import split_assignments
    from kernbench.cli.compiling import announce_compiling
    from kernbench.cli.outputs import check_directory
    from kernbench.cli.progress import progress
    from kernbench.machine import load_machine
    from kernbench.traffic.curve import run_curve
    from kernbench.traffic.loads import parse_loads
    from kernbench.traffic.offer import Offer
    from kernbench.traffic.run import run_flows

    if (bool(texts), file is not None, pattern is not None).count(True) != 1:
        raise InputError(
            "probe sends what you give it: one of --flow (as often as you like), --flows and --pattern; "
            "kernbench probe --help shows their forms"
        )
    parameters, overrides = split_assignments(assignments)
    overrides = {**parameters, **overrides}
    if pattern is None:
        if out is not None:
            check_directory(out)
        flows = _read_flows(texts, file)
        machine = load_machine(topology, overrides)
        announce_compiling()
        with progress() as on_progress:
            result = run_flows(machine, flows, mode, on_progress)
        _keep_flows(result, overrides, out, as_json)
        return
    loads = parse_loads(load)
    out = out or Path("results", f"{Path(topology).stem}-{pattern}")
    check_directory(out)
    machine = load_machine(topology, overrides)
    announce_compiling()
    curve = run_curve(
        machine,
        Offer(pattern, packet_flits, seed, window),
        loads,
        mode,
        lambda point: click.echo(f"load {point.load:g}  {point.latency_ns:,.1f} ns", err=True),
    )
    _keep_curve(curve, overrides, out, as_json)


def _read_flows(texts: Sequence[str], file: Path | None) -> Flows:
    from kernbench.traffic.flow_file import read_flows
    from kernbench.traffic.flows import parse_flows

    return parse_flows(texts) if file is None else read_flows(file)


def _keep_flows(result: FlowResult, overrides: Mapping[str, str], out: Path | None, as_json: bool) -> None:
    from kernbench.directory import RESULT, write_directory, write_json

    files = {} if out is None else {"flows": str(out / FLOWS), "result": str(out / RESULT)}
    summary, table = {**result.to_dict(), "overrides": overrides, "files": files}, result.table()
    if out is not None:

        def write(partial: Path) -> None:
            table.write_parquet(partial / FLOWS)
            write_json(summary, partial / RESULT)

        write_directory(out, write)
    if as_json:
        click.echo(
            f'{{"flows": {table.write_json()}, {json.dumps(summary)[1:]}'
        )  # `json` would take a second for 300,000
        return
    from kernbench.cli.screen import show

    shown = table if len(table) <= MOST_SHOWN else table.sort("latency_ns", descending=True).head(MOST_SHOWN)
    of = "" if len(table) <= MOST_SHOWN else f"; the {MOST_SHOWN} slowest"
    click.secho(f"{len(table):,} flows on {result.topology}, {result.mode} mode{of}", bold=True)
    show(_figures(shown.to_dicts(), FLOW_COLUMNS))
    _show_effort(summary)


def _keep_curve(curve: Curve, overrides: Mapping[str, str], out: Path, as_json: bool) -> None:
    from kernbench.directory import RESULT, write_directory, write_json
    from kernbench.report.load_curve import plot_load_curve

    plots = [str(out / f"{PLOT}{suffix}") for suffix in (".svg", ".png")]
    files = {"table": str(out / CURVE), "plots": plots, "result": str(out / RESULT)}
    summary = {**curve.to_dict(), "overrides": overrides, "files": files}

    def write(partial: Path) -> None:
        curve.table().write_parquet(partial / CURVE)
        plot_load_curve(curve, partial / PLOT)
        write_json(summary, partial / RESULT)

    write_directory(out, write)
    if as_json:
        click.echo(json.dumps(summary))
        return
    from kernbench.cli.screen import show

    offer = curve.offer
    size = f"packets of {offer.packet_flits} flits, seed {offer.seed}"
    click.secho(f"{offer.pattern} traffic on {curve.topology} ({curve.size}), {curve.mode} mode, {size}", bold=True)
    show(_figures(summary["points"], POINT_COLUMNS))
    click.echo(f"each packet alone {curve.zero_load_ns:,.3f} ns; {_saturation(curve)}")
    _show_effort(summary)


def _saturation(curve: Curve) -> str:
    if curve.saturation_load is None:
        return "not saturated at any of these loads"
    return f"saturated, with three times that, at load {curve.saturation_load:.3f}"


def _show_effort(summary: Mapping[str, Any]) -> None:
    click.echo(
        f"makespan {summary['makespan_ns']:,.3f} ns (simulated); "
        f"{summary['flit_hops']:,} flit hops in {summary['wall_s']:.2f} s"
    )
    for made in summary["files"].values():
        for path in made if isinstance(made, list) else [made]:
            click.echo(f"wrote {path}")


def _figures(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, tuple[str, str]]) -> Table:
    """Rows as a table; `columns` gives the title and the format of each field that is shown."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for title, form in columns.values():
        table.add_column(title, justify="right" if form else "left")
    for row in rows:
        table.add_row(*(Text(format(row[name], form)) for name, (_, form) in columns.items()))
    return table
