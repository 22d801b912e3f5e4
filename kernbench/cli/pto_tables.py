"""Tables of a run of task graphs: its figures, its stages, the time of its threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from kernbench.cli.summary import bottleneck_line
from kernbench.pto.results.record import Phase
from kernbench.report.tables.text_table import KEEP, Column, Field, TextTable, figures_table, list_table
from kernbench.sweep.point import TOPOLOGY
from kernbench.text import plural

if TYPE_CHECKING:
    from kernbench.pto.results.summary import Summary

STAGES = {
    "name": Field("stage"),
    "core": Field("core", rank=3),
    "tasks": Field("tasks", ",d", rank=4),
    "blocks": Field("blocks", ",d", rank=1),
    "start_us": Field("first start µs", ",.3f"),
    "end_us": Field("last end µs", ",.3f"),
    "busy_us": Field("busy µs", ",.3f"),
    "mean_us": Field("mean µs", ",.3f", rank=2),
}
NUMBERS = {
    True: ("right", "every output is as the golden one"),
    False: ("wrong", "the error says where"),
    None: ("not checked", "--no-data was given"),
}
RESULTS = ("span_us",)  # of a sweep: the columns that are never left out


def summary_table(summary: Summary, told: Mapping[str, Any]) -> TextTable:
    """The figures of a run; `told` has its bottleneck, and what only runs of benches have."""
    lines = [
        ("span", f"{summary.span_us:,.3f} µs", "simulated time, from the first kernel's start to the last one's end"),
        ("run", f"{summary.run_us:,.3f} µs", "simulated time, with start-up and shut-down of the runtime"),
        ("submitted", f"{summary.orchestrated_us:,.3f} µs", "simulated time, when the last task was submitted"),
    ]
    for name, label, note in (
        ("host_in_us", "copied in", "simulated time before the run, over the host's link"),
        ("host_out_us", "copied out", "simulated time after the run"),
    ):
        if name in told:
            lines.append((label, f"{told[name]:,.3f} µs", note))
    for kind, share in summary.utilisation.items():
        lines.append((kind, f"{share:.1%}", "of the span, all cores of the kind"))
    if told["bottleneck"]:
        lines.append(bottleneck_line(told))
    peaks = summary.peaks
    entries = f"{peaks['dep_entries']:,} dependency and {peaks['map_entries']:,} map entries"
    note = f"{peaks['heap_bytes']:,} bytes of heap, {entries}, {peaks['ready']:,} ready tasks"
    lines.append(("at most", f"{peaks['tasks']:,} slots", note))
    if summary.blocked:
        note = f"allocations had to wait; {summary.recycled:,} took a slot again"
        lines.append(("blocked", f"{summary.blocked:,}", note))
    if told.get("block_dim") is not None and told["clusters"] < told["block_dim"]:
        lines.append(
            (
                "clusters",
                f"{told['clusters']:,}",
                f"all of the machine; the bench has a block_dim of {told['block_dim']:,}",
            )
        )
    if "verified" in told:
        lines.append(("numbers", *NUMBERS[told["verified"]]))
    return list_table(lines)


def stage_table(summary: Summary) -> TextTable:
    """The stages: all tasks of a name."""
    return figures_table([stage.to_dict() for stage in summary.stages], STAGES)


def thread_table(summary: Summary) -> TextTable:
    """The time of each thread, by phase."""
    phases = [*(phase.name.lower() for phase in Phase), "poll"]
    phases = [name for name in phases if any(name in each for each in summary.threads.values())]
    fields = {"thread": Field("thread")} | {
        name: Field(f"{name.replace('_', ' ')} µs", ",.3f", rank=1) for name in phases
    }
    rows = [{**dict.fromkeys(phases), "thread": thread, **each} for thread, each in summary.threads.items()]
    return figures_table(rows, fields)


def sweep_table(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """The points of a grid with their figures; a column of one value is left out."""
    names = [name for name in rows[0] if len({str(row[name]) for row in rows}) > 1]
    columns = [
        Column(
            f"{name.removesuffix('_us')} µs" if name.endswith("_us") else name.removeprefix("topology."),
            [_figure(row[name]) for row in rows],
            right=True,
            rank=KEEP if name in RESULTS else len(names) - place,
        )
        for place, name in enumerate(names)
    ]
    return TextTable(columns, whole="in table.parquet")


def tell_shortest(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> list[str]:
    """The answer of a grid: the shortest span, and where it is, in a line for each workload.

    A case and its parameters are the workload; fields of the topology and `runtime` are what can be chosen for it.
    """
    varying = [name for name in names if len({str(row[name]) for row in rows}) > 1]
    chosen = [name for name in varying if name.startswith(TOPOLOGY) or name == "runtime"]
    given = [name for name in varying if name not in chosen] if chosen else []
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in given), []).append(row)
    lines: list[str] = []
    for values, each in groups.items():
        of = ", ".join(f"{name} {_listed([value])}" for name, value in zip(given, values, strict=True))
        lines.append(f"shortest span{of and ' of '}{of}: {_shortest(each, chosen or varying)}")
    return lines


def _shortest(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> str:
    done = [row for row in rows if row["span_us"] is not None]
    if not done:
        return "none, the runtime stopped every point"
    stopped = f"; the runtime stopped {plural(len(rows) - len(done), 'point')}" if len(done) < len(rows) else ""
    least = min(row["span_us"] for row in done)
    best = [row for row in done if row["span_us"] == least]
    values = {name: list(dict.fromkeys(row[name] for row in best)) for name in names}
    if len(best) < prod(map(len, values.values())):  # not each of these values with each of the others
        values = {name: [best[0][name]] for name in names}
        stopped = f" ({len(best) - 1:,} more have the same){stopped}"
    where = ", ".join(f"{name.removeprefix(TOPOLOGY)} {_listed(found)}" for name, found in values.items())
    return f"{least:,.3f} µs{where and ' with '}{where}{stopped}"


def _listed(values: Sequence[object]) -> str:
    """Values as a text, numbers grouped: `64, 128 or 256`."""
    texts = [f"{value:,}" if isinstance(value, int) else str(value) for value in values]
    return " or ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _figure(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
