"""The summary of a run in a few lines: latency, utilisation, bottleneck, and the check of its numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.energy.static import mean_w
from kernbench.text import plural
from kernbench.text_table import TextTable, list_table
from kernbench.units import FS_PER_NS, format_joules

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult

MOST_COLLECTIVES = 6


def summary_tables(result: RunResult, *, states_numbers: bool = True) -> list[TextTable]:
    """The summary of a run of a bench, or of a program that states no numbers to check."""
    lines = result_lines(result.to_dict())
    return [list_table([line for line in lines if states_numbers or line[0] != "numbers"])]


def result_lines(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Label, figure and remark of each line, of `RunResult.to_dict()`."""
    least = "≥ " if summary.get("binding") else ""
    launched = bool(summary["pe_exec_ns"] or summary.get("binding"))  # programs of chips have no launch from a host
    span = "host launch to host completion" if launched else "start to end of the run"
    lines = [("latency", f"{least}{summary['latency_ns']:,.3f} ns", f"simulated time, {span}")]
    if launched:
        remark = "simulated time, launch barrier to last PE done"
        lines.append(("kernel", f"{least}{summary['pe_exec_ns']:,.3f} ns", remark))
    if summary.get("binding"):
        lines.append(("all", f"≥ {summary['makespan_ns']:,.3f} ns", f"bound by {summary['binding']}"))
        lines.append(("", f"≤ {summary['upper_ns']:,.3f} ns", "if everything were done one after the other"))
        lines += energy_lines(summary)
        lines.append(("analysis", f"{summary['wall_s']:.2f} s", "wall time; no events"))
        return lines
    lines += _collectives(summary.get("collectives", ()))
    if summary["achieved_tflops"]:
        remark = f"useful flops over kernel time; {summary['tflops_of_peak']:.1%} of the PEs' peak"
        lines.append(("achieved", f"{summary['achieved_tflops']:,.3f} TFLOPS", remark))
    if summary["achieved_gbs"]:
        remark = "bytes moved by DMA over kernel time"
        if summary["gbs_of_peak"]:
            remark += f"; {summary['gbs_of_peak']:.1%} of their HBM's peak"
        lines.append(("", f"{summary['achieved_gbs']:,.1f} GB/s", remark))
    if summary["bottleneck"]:
        lines.append(bottleneck_line(summary))
    lines += energy_lines(summary)
    if summary["unmapped_lookups"]:
        remark = "no tensor holds these addresses, so they were taken as physical ones"
        lines.append(("unmapped", f"{summary['unmapped_lookups']:,} look-ups", remark))
    lines.append(("simulation", f"{summary['wall_s']:.2f} s", _effort(summary)))
    lines.append(numbers_line(summary["verified"], summary["mismatches"]))
    return lines


def energy_lines(summary: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The energy of a run, and the figures that it lacks; none of a machine without prices."""
    dynamic, static, upper = (summary.get(name) for name in ("dynamic_aj", "static_aj", "static_upper_aj"))
    if dynamic is None or static is None:
        return []
    missing, least = summary["no_figures"], "≥ " if summary["no_figures"] or upper is not None else ""
    power_w = mean_w(dynamic + static, round(summary["makespan_ns"] * FS_PER_NS))
    remark = f"{format_joules(dynamic)} dynamic, {format_joules(static)} static"
    remark += f"; at most {format_joules(dynamic + upper)}" if upper is not None else f"; mean power {power_w:,.4g} W"
    lines = [("energy", f"{least}{format_joules(dynamic + static)}", remark)]
    if missing:
        lines.append(("", plural(missing.count(",") + 1, "figure") + " missing", f"no energy figure: {missing}"))
    return lines


def bottleneck_line(summary: Mapping[str, Any]) -> tuple[str, str, str]:
    """The line of the busiest class of parts: label, share, names."""
    busiest = f"{summary['bottleneck']}, most of all {summary['bottleneck_part']}"
    return ("bottleneck", f"{summary['bottleneck_utilisation']:.1%} busy", busiest)


def _collectives(found: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """Lines for each of the first collectives: its time and participants, its bandwidths, its ratios to the lower bounds."""
    lines: list[tuple[str, str, str]] = []
    for one in found[:MOST_COLLECTIVES]:
        slots = f"slots of {one['slot_bytes']:,} B in {one['buffer_kind']}"
        chosen = " (chosen)" if one["chosen"] else ""
        parts = f"{one['participants']} x {one['bytes_per_pe']:,} B"
        remark = f"{one['algorithm']}{chosen} on {one['sip_topology']}, {parts}, {slots}"
        lines.append((one["collective"], f"{one['latency_ns']:,.3f} ns", remark))
        if one["busbw_gbs"]:
            lines.append(
                ("", f"{one['algbw_gbs']:,.3f} GB/s", f"algorithm bandwidth; bus {one['busbw_gbs']:,.3f} GB/s")
            )
        if one["times_task_bound"]:
            figure = f"{one['times_task_bound']:.2f} x bound"
            lines.append(("", figure, f"of the task, {one['task_bound_ns']:,.1f} ns: {one['task_bound_by']}"))
        if one["times_bound"]:
            lines.append(("", f"{one['times_bound']:.2f} x bound", f"of the algorithm, {one['bound_ns']:,.1f} ns"))
    if len(found) > MOST_COLLECTIVES:
        lines.append(("", f"{len(found) - MOST_COLLECTIVES} more", "collectives; --json tells of all"))
    return lines


def _effort(summary: Mapping[str, Any]) -> str:
    return f"wall time; {summary['events']:,} events, {summary['flit_hops']:,} flit hops"


def numbers_line(verified: bool | None, mismatches: Sequence[str]) -> tuple[str, str, str]:
    """The line of the check of numbers: label, verdict, remark."""
    match verified:
        case None:
            return "numbers", "not checked", "--verify-data checks them"
        case True:
            return "numbers", "right", "every output equals its independent reference"
        case _:
            return "numbers", "WRONG", "; ".join(mismatches)
