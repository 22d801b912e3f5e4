"""The output of `kernbench run --energy`: where the energy of a run went."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernbench.cli.output.screen import say, show_first
from kernbench.text_table import Field
from kernbench.units import format_joules

MOST_SHOWN = 12  # rows of a table; the rest is in --json
NO_FIGURE = "no figure"
REST = "(dies, where no part is)"
NO_LINE = "(no kernel: host and launches)"
ACTIONS = {
    "part": Field("part"),
    "action": Field("action"),
    "amount": Field("times", ",.6g", rank=2),
    "energy": Field("energy", "s"),
    "share": Field("of dynamic", ".1%"),
}
OF_TOTAL = {
    "name": Field(""),
    "dynamic": Field("dynamic", "s"),
    "static": Field("static", "s"),
    "share": Field("of all", ".1%"),
}
SHARES = {"energy": Field("dynamic", "s"), "share": Field("of it", ".1%")}
OPERATIONS = {"operation": Field("operation"), "kind": Field("kind", rank=2), **SHARES}
LAUNCHES = {
    "kernel": Field("kernel"),
    "place": Field("launched at", shortens=True),
    "launches": Field("launches", ",d", rank=3),
    **SHARES,
}
RANGES = {
    "figure": Field("figure"),
    "range": Field("range"),
    "at_low": Field("low", "+.1%"),
    "at_high": Field("high", "+.1%"),
    "source": Field("source", shortens=True),
}
MOST_RANGES = 6
LINES = {"place": Field("line", shortens=True), **SHARES, "text": Field("source")}


def show_energy(found: Mapping[str, Any], of: str = "") -> None:
    """Print `RunResult.tell_energy()`; `of`: what it is of, if not of the whole that is asked for."""
    dynamic, total = found["dynamic_aj"], found["total_aj"]
    upper, static = found["upper_aj"], format_joules(found["static_aj"])
    least = "at least " if upper is not None or found["missing"] else ""
    most = f"; at most {format_joules(upper)}" if upper is not None else ""
    what = f"energy of {of}" if of else "energy"
    _title(f"{what}: {least}{format_joules(total)}, {format_joules(dynamic)} dynamic and {static} static{most}")
    if found["power"] is not None:
        say(_power(found["mean_w"], found["power"]["peak"]))
    parts = [{**one, "name": one["part"] or REST} for one in found["parts"]]
    show_first(_largest(parts, total), {**OF_TOTAL, "name": Field("part")}, MOST_SHOWN)
    _title("dynamic energy by action")
    show_first([_action(one, dynamic) for one in found["actions"]], ACTIONS, MOST_SHOWN)
    for field in found["missing"]:
        say(f"no energy figure: {field}")
    if found["range"] is not None:
        _show_range(found["range"])
    _title("by die")
    dies = [{**one, "name": one["die"]} for one in found["dies"]]
    show_first(_largest(dies, total), {**OF_TOTAL, "name": Field("die")}, MOST_SHOWN)
    lines = [{**one, "place": one["place"] or NO_LINE} for one in found["lines"]]
    known = any(one["place"] != NO_LINE for one in lines)  # of kernels; tasks have none
    _title(f"dynamic energy by operation{', and by line of the kernels' if known else ''}")
    show_first(list(_shares(found["operations"], dynamic)), OPERATIONS, MOST_SHOWN)
    if known:
        say()
        show_first(list(_shares(lines, dynamic)), LINES, MOST_SHOWN)
    if len(found["launches"]) > 1:
        _title("by launch")
        launches = [{**one, "kernel": one["kernel"] or NO_LINE} for one in found["launches"]]
        show_first(list(_shares(launches, dynamic)), LAUNCHES, MOST_SHOWN)


def _power(mean_w: float, peak: Mapping[str, float]) -> str:
    """The line on power, of the mean and `PowerOverTime.to_dict()["peak"]`."""
    when = f"in the {peak['length_ns']:,.6g} ns from {peak['start_ns']:,.6g} ns"
    return f"power: {mean_w:,.6g} W in the mean, at most {peak['w']:,.6g} W {when}"


def _show_range(found: Mapping[str, Any]) -> None:
    """Print `TotalRange.to_dict()` of an energy."""
    ends, extremes = ([format_joules(found[name]) for name in names] for names in (("low", "high"), ("least", "most")))
    _title(
        f"between {' and '.join(ends)} for what is uncertain of the prices; {' and '.join(extremes)} with all at once"
    )
    whole = found["value"] or 1
    rows = [
        {
            "figure": one["field"],
            "range": f"{one['low']:.6g} … {one['high']:.6g} {one['unit']}",
            "at_low": one["at_low"] / whole - 1,
            "at_high": one["at_high"] / whole - 1,
            "source": one["source"],
        }
        for one in found["figures"]
    ]
    show_first(rows, RANGES, MOST_RANGES)


def _action(one: Mapping[str, Any], whole: int) -> dict[str, Any]:
    energy = one["energy_aj"]
    if energy is None:
        return {**one, "energy": NO_FIGURE, "share": None}
    return {**one, "energy": format_joules(energy), "share": energy / (whole or 1)}


def _largest(rows: Iterable[Mapping[str, Any]], whole: int) -> list[dict[str, Any]]:
    """Rows of dynamic and static energy, the largest sum first."""
    ordered = sorted(rows, key=lambda one: (-one["dynamic_aj"] - one["static_aj"], one["name"]))
    return [
        {
            "name": one["name"],
            "dynamic": format_joules(one["dynamic_aj"]),
            "static": format_joules(one["static_aj"]),
            "share": (one["dynamic_aj"] + one["static_aj"]) / (whole or 1),
        }
        for one in ordered
    ]


def _shares(rows: Iterable[Mapping[str, Any]], whole: int) -> Iterable[dict[str, Any]]:
    for one in rows:
        energy = one["dynamic_aj"]
        yield {**one, "energy": format_joules(energy), "share": energy / (whole or 1)}


def _title(text: str) -> None:
    say()
    say(text, bold=True)
