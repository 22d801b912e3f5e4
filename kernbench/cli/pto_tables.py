"""Tables of a run of task graphs: its figures, its stages, the time of its threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.pto.record import Phase

if TYPE_CHECKING:
    from rich.table import Table

    from kernbench.pto.summary import Summary


def summary_table(summary: Summary, told: Mapping[str, Any]) -> Table:
    """The figures of a run; `told` has those that only runs of benches have."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(justify="right")
    table.add_column(style="dim")
    table.add_row(
        "span", f"{summary.span_us:,.3f} µs", "simulated time, from the first kernel's start to the last one's end"
    )
    table.add_row("run", f"{summary.run_us:,.3f} µs", "simulated time, with start-up and shut-down of the runtime")
    table.add_row("submitted", f"{summary.orchestrated_us:,.3f} µs", "simulated time, when the last task was submitted")
    for name, label, note in (
        ("host_in_us", "copied in", "simulated time before the run, over the host's link"),
        ("host_out_us", "copied out", "simulated time after the run"),
    ):
        if name in told:
            table.add_row(label, f"{told[name]:,.3f} µs", note)
    for kind, share in summary.utilisation.items():
        table.add_row(kind, f"{100 * share:.1f} %", "of the span, all cores of the kind")
    peaks = summary.peaks
    table.add_row(
        "at most",
        f"{peaks['tasks']:,} slots",
        f"{peaks['heap_bytes']:,} bytes of heap, {peaks['dep_entries']:,} dependency and {peaks['map_entries']:,} map entries, "
        f"{peaks['ready']:,} ready tasks",
    )
    if summary.blocked:
        table.add_row(
            "blocked", f"{summary.blocked:,}", f"allocations had to wait; {summary.recycled:,} took a slot again"
        )
    return table


def stage_table(summary: Summary) -> Table:
    """The stages: all tasks of a name."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("stage")
    for title in ("core", "tasks", "blocks", "first start, µs", "last end, µs", "busy, µs", "mean, µs"):
        table.add_column(title, justify="left" if title == "core" else "right")
    for stage in summary.stages:
        figures = (stage.start_us, stage.end_us, stage.busy_us, stage.mean_us)
        texts = (f"{figure:,.3f}" for figure in figures)
        table.add_row(Text(stage.name), stage.core, f"{stage.tasks:,}", f"{stage.blocks:,}", *texts)
    return table


def thread_table(summary: Summary) -> Table:
    """The time of each thread, by phase."""
    from rich.table import Table

    phases = [*(phase.name.lower() for phase in Phase), "poll"]
    phases = [name for name in phases if any(name in each for each in summary.threads.values())]
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("thread, µs")
    for name in phases:
        table.add_column(name.replace("_", " "), justify="right")
    for thread, each in summary.threads.items():
        table.add_row(thread, *(f"{each[name]:,.3f}" if name in each else "" for name in phases))
    return table


def what_if_table(what_ifs: Sequence[Mapping[str, Any]]) -> Table:
    """What each thing would save if it were twice as fast or large."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("twice as fast or large")
    for title in ("run, µs", "saved, µs"):
        table.add_column(title, justify="right")
    for each in what_ifs:
        table.add_row(each["twice"], f"{each['run_us']:,.3f}", f"{each['saved_us']:,.3f}")
    return table


def sweep_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """The points of a grid with their figures; a column of one value is left out."""
    from rich.table import Table
    from rich.text import Text

    names = [name for name in rows[0] if len({str(row[name]) for row in rows}) > 1]
    table = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in names:
        table.add_column(Text(name.removeprefix("topology.")), justify="right")
    for row in rows:
        table.add_row(*(Text(_figure(row[name])) for name in names))
    return table


def _figure(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,.3f}" if isinstance(value, float) else str(value)
