"""`kernbench probe`: traffic over a machine, without kernels.

There are three kinds of traffic, one module each: the standard cases of the machine, given flows, patterns at rising load.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from click.core import ParameterSource

from kernbench.cli.commands import options
from kernbench.cli.names import completion
from kernbench.errors import InputError, shorten

OF_PATTERN = ("load", "packet_flits", "seed", "window", "vary")


@click.command("probe")
@click.argument("more_traces", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--flow",
    "texts",
    multiple=True,
    metavar="SRC:DST[+DST]:BYTES[:read|write][@START_NS]",
    help="One flow, such as host:sip0.cube3.pe5:64KiB or node[0][0]:node[3][4]:4KiB@100; may be repeated. DST+DST or, on a "
    "mesh, node[1][1]..node[3][4] is a multicast.",
)
@click.option(
    "--flows",
    "file",
    type=click.Path(path_type=Path),
    help="Flows from a CSV file with the columns src, dst, bytes, start_ns and, if you like, kind.",
)
@click.option(
    "--noc-trace",
    "noc_traces",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Replay a JSON trace of Tenstorrent's NoC profiler, or all of a directory, on wormhole_n150 or the -t that is given.",
)
@click.option(
    "--closed-loop",
    is_flag=True,
    help="Of NoC traces: what follows a barrier follows its simulated end; without it, each event keeps its time.",
)
@click.option(
    "--pattern",
    help="uniform, transpose, bitcomp, hotspot, neighbor or tornado, on a mesh.",
    shell_complete=completion.patterns,
)
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
@click.option(
    "--vary",
    metavar="FIELD=VALUE,VALUE",
    help="Of a pattern: a curve for each value of a topology field, in one plot, such as flow_control=unbounded,credit.",
    shell_complete=completion.varied,
)
@click.option(
    "--explain",
    is_flag=True,
    help="On a machine with credits: say what flits waited for, by link, of a pattern also by load.",
)
@options.TRACE
@options.TRACE_FILTER
@options.TOPOLOGY
@options.mode()
@options.assignments("A topology field (link_gbs=128, with or without topology. before it)")
@options.AS_JSON
@options.out("Keep table, plot and result in this directory.  [default of a pattern: results/<topology>-<pattern>]")
@options.FORMS
@click.pass_context
def command(
    context: click.Context,
    more_traces: tuple[Path, ...],
    texts: tuple[str, ...],
    file: Path | None,
    noc_traces: tuple[Path, ...],
    closed_loop: bool,
    pattern: str | None,
    load: str,
    packet_flits: int,
    seed: int,
    window: int,
    vary: str | None,
    explain: bool,
    trace: Path | None,
    trace_filters: tuple[str, ...],
    topology: str,
    mode: str,
    assignments: tuple[str, ...],
    as_json: bool,
    out: Path | None,
    forms: tuple[str, ...],
) -> None:
    """Send traffic over a machine and say when it arrives.

    Alone, it measures the machine: host writes and reads over ever more hops, and the DMA of a PE or core to ever farther
    memory, at 32 KiB and from 4 KiB to 1 MiB, beside what a formula says; a broken invariant is exit code 1. Or give --flow
    as often as you like, or --flows, or --pattern. A part is named by its path; a PE sends by its DMA and receives in its
    slice of HBM; host is the host of the other part's SIP; a node of a mesh is node[y][x] or its index.
    """
    from kernbench.cli.names.assignment import read_fields
    from kernbench.cli.output.files import check_forms

    if more_traces and not noc_traces:
        raise InputError(
            f"probe takes files by an option, and got {shorten(str(more_traces[0]))}; give --flows FILE or --noc-trace FILE"
        )
    noc_traces = (*noc_traces, *more_traces)  # as a shell gives them for --noc-trace *.json
    if noc_traces and not (texts or file is not None or pattern is not None or explain or trace is not None):
        from kernbench.cli.probe.noc_traces import probe_noc_traces

        asked = context.get_parameter_source("topology") is ParameterSource.COMMANDLINE
        chip, overrides = topology if asked else None, read_fields(assignments)
        check_forms(forms, out)
        return probe_noc_traces(noc_traces, chip, mode, overrides, out, forms, as_json, closed_loop)
    _check_asked(texts, file, pattern, explain, trace, noc_traces, closed_loop)
    if pattern is None:
        check_forms(forms, out)
    overrides = read_fields(assignments)
    if pattern is not None:
        from kernbench.cli.probe.pattern import probe_pattern
        from kernbench.traffic.injection_process import InjectionProcess

        injection = InjectionProcess(pattern, packet_flits, seed, window)
        if vary is not None:
            from kernbench.cli.probe.varied import probe_varied

            return probe_varied(injection, load, topology, mode, overrides, vary, out, forms, as_json, explain)
        return probe_pattern(injection, load, topology, mode, overrides, out, forms, as_json, explain)
    for name in OF_PATTERN:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise InputError(f"--{name.replace('_', '-')} says how a pattern is sent; give --pattern with it")
    if texts or file is not None:
        from kernbench.cli.probe.flows import probe_flows

        return probe_flows(texts, file, topology, mode, overrides, out, forms, as_json, explain, trace, trace_filters)
    from kernbench.cli.probe.survey import probe_survey

    return probe_survey(topology, mode, overrides, out, forms, as_json)


def _check_asked(
    texts: Sequence[str],
    file: Path | None,
    pattern: str | None,
    explain: bool,
    trace: Path | None,
    noc_traces: Sequence[Path],
    closed_loop: bool,
) -> None:
    """Errors: InputError for several kinds of traffic, and for what the kind that is given cannot leave."""
    if noc_traces and (explain or trace is not None):
        raise InputError(
            "--noc-trace says what was waited for by itself and writes no --trace; leave --explain and --trace out"
        )
    if closed_loop and not noc_traces:
        raise InputError("--closed-loop says how NoC traces are replayed; give --noc-trace with it")
    if (bool(texts), file is not None, pattern is not None, bool(noc_traces)).count(True) > 1:
        raise InputError(
            "probe sends one kind of traffic: --flow (as often as you like), --flows, --pattern or --noc-trace; "
            "without any of them it measures the machine"
        )
    if explain and not texts and file is None and pattern is None:
        raise InputError(
            "--explain says what the flits of traffic waited for; give --flow, --flows or --pattern with it"
        )
    if trace is not None and not texts and file is None:
        raise InputError("--trace writes the flows of one run; give --flow or --flows with it")
