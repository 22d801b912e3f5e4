"""The summary of a graph: images or sequences a second, the time of each kind of operator and of the longest nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.frontends.bench_tables import numbers_line
from kernbench.frontends.network_tables import list_not_modelled, say_bytes, say_held, say_least
from kernbench.text import plural
from kernbench.text_table import Column, TextTable, list_table
from kernbench.units import AJ_PER_J, format_joules

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult

MOST_SHOWN = 20  # nodes in the summary; --json has all
_WIDEST = 44  # letters of a name


def graph_tables(result: RunResult) -> list[TextTable]:
    """As of `Workload.tables`."""
    told = result.network
    assert told is not None
    return [
        _answer(told, result),
        _kinds(told["kinds"], told["step_ns"]),
        _operators(told["operators"], told["step_ns"]),
        list_not_modelled(told["not_modelled"]),
    ]


def _answer(told: Mapping[str, Any], result: RunResult) -> TextTable:
    held, rows = told["memory_bytes"], told["operators"]
    launches = sum(row["times"] for row in rows)
    counted = f"{plural(sum(told['nodes'].values()), 'node')} of the file, " if told["nodes"] else ""
    lines = [
        (
            "throughput",
            f"{told['sequences_s']:,.1f} /s",
            f"{plural(told['sequences'], 'item')} in a pass, one pass after the other",
        ),
        (
            "time of a pass",
            f"{told['step_ns'] / 1e6:,.4f} ms",
            f"{counted}{plural(launches, 'operator')}, simulated time",
        ),
        ("fused", plural(len(told["fused"]), "node"), "end the operator before them (--set fuse=no launches each)"),
        *_energy(told),
        ("least", f"{told['least_ns'] / 1e6:,.4f} ms", f"{told['share_of_least']:.1%} of peak; {say_least(told)}"),
        ("memory", say_bytes(sum(held.values())), f"of {say_bytes(told['sip_bytes'])} of a SIP; {say_held(held)}"),
        ("simulated", f"{result.latency_ns:,.3f} ns", f"latency of {plural(len(rows), 'operator')} that stand for all"),
        ("simulation", f"{result.wall_s:.2f} s", f"wall time; {result.events:,} events"),
        numbers_line(result.verified, result.mismatches),
    ]
    return list_table(lines)


def _energy(told: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The energy of an item; no line where a figure is missing."""
    if told["joules_per_item"] is None:
        return []
    dynamic, static = (round(told[f"step_{kind}_j"] * AJ_PER_J) for kind in ("dynamic", "static"))
    figure = format_joules(told["joules_per_item"] * AJ_PER_J)
    remark = f"of a pass {format_joules(dynamic)} dynamic, {format_joules(static)} static, of the whole machine"
    return [("energy per item", figure, remark)]


def _kinds(kinds: Sequence[Mapping[str, Any]], step_ns: float) -> TextTable:
    """A line for each kind of operator."""
    return TextTable(
        [
            Column("kind", [row["kind"] for row in kinds]),
            Column("operators", [f"{row['count']:,}" for row in kinds], right=True),
            Column("us", [f"{row['ns'] / 1e3:,.3f}" for row in kinds], right=True),
            Column("of pass", [f"{row['ns'] / step_ns:.1%}" for row in kinds], right=True),
            Column("GFLOP", [f"{row['flops'] / 1e9:,.3f}" for row in kinds], right=True),
            Column("MB", [f"{row['bytes'] / 1e6:,.2f}" for row in kinds], right=True),
            Column("bound by", [row["bound"] for row in kinds]),
            Column("of peak", [f"{row['share_of_peak']:.1%}" for row in kinds], right=True),
        ]
    )


def _operators(rows: Sequence[Mapping[str, Any]], step_ns: float) -> TextTable:
    """A line for each launch that was simulated, the longest first; the last line sums the others."""
    ordered = sorted(rows, key=lambda row: -row["times"] * row["ns"])
    shown, rest = ordered[:MOST_SHOWN], ordered[MOST_SHOWN:]
    left = sum(row["times"] * row["ns"] for row in rest)
    more = [f"{len(rest)} others (--json has them)"] if rest else []
    empty = [""] * len(more)
    return TextTable(
        [
            Column("node", [_shorten(row["operator"]) for row in shown] + more),
            Column("kind", [row["section"] for row in shown] + empty),
            Column("times", [f"{row['times']:,}" for row in shown] + empty, right=True),
            Column("us", [f"{row['ns'] / 1e3:,.3f}" for row in shown] + empty, right=True),
            Column(
                "of pass",
                [f"{row['times'] * row['ns'] / step_ns:.1%}" for row in shown]
                + ([f"{left / step_ns:.1%}"] if more else []),
                right=True,
            ),
            Column("bound by", [row["bound"] for row in shown] + empty),
            Column("of peak", [f"{row['share_of_peak']:.1%}" for row in shown] + empty, right=True),
        ]
    )


def _shorten(name: str) -> str:
    """The end of a long name, which tells nodes of exporters apart."""
    return name if len(name) <= _WIDEST else f"...{name[3 - _WIDEST :]}"
