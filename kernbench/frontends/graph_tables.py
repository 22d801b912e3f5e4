"""Tables of a run of task graphs: its figures, its stages, the time of its threads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernbench.frontends.bench_tables import bottleneck_line, energy_lines
from kernbench.pto.results.record import Phase
from kernbench.text_table import Field, TextTable, figures_table, list_table

if TYPE_CHECKING:
    from kernbench.frontends.graph_result import GraphResult
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


def graph_tables(result: GraphResult) -> list[TextTable]:
    """The summary of a run: its figures, stages and threads."""
    assert result.summary is not None
    told = result.to_dict()
    return [summary_table(result.summary, told), stage_table(result.summary), thread_table(result.summary)]


def summary_table(summary: Summary, told: Mapping[str, Any]) -> TextTable:
    """The figures of a run; `told` has its bottleneck, and what only runs of benches have."""
    lines = [
        ("runtime", told["runtime"], f"{summary.tasks:,} tasks in {summary.blocks:,} blocks"),
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
    lines += energy_lines(told)
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
    if "clusters" in told:  # of a task graph, and not of a measured one
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
