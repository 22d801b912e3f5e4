"""The output of `kernbench run --explain`: critical path, what-if table, utilisation, queueing and roofline of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernbench.cli.output.energy import NO_LINE
from kernbench.cli.output.network_waits import show_network_waits
from kernbench.cli.output.progress import Display
from kernbench.cli.output.screen import say, show_first
from kernbench.runs.explanation import Explanation
from kernbench.runs.result import RunResult
from kernbench.runs.what_if import WhatIf
from kernbench.text_table import Field
from kernbench.units import format_joules

MOST_OPERATORS = 24
MOST_SHOWN = 10  # rows of a table; the rest is in --json

NO_OPERATION = "(between operations)"
LINES = {
    "place": Field("line", shortens=True),
    "path_ns": Field("ns", ",.3f"),
    "share": Field("share", ".1%"),
    "text": Field("source"),
}
LAUNCHES = {
    "kernel": Field("kernel"),
    "place": Field("launched at", shortens=True),
    "launches": Field("launches", ",d", rank=6),
    "kernel_ns": Field("kernel ns", ",.3f", rank=5),
    "path_ns": Field("on path ns", ",.3f"),
    "share": Field("share", ".1%", rank=5),
    "achieved_tflops": Field("TFLOPS", ",.3f", rank=4),
    "tflops_of_peak": Field("of peak", ".1%", rank=2),
    "achieved_gbs": Field("GB/s", ",.1f", rank=3),
    "gbs_of_peak": Field("of peak GB/s", ".1%", rank=1),
}
OPERATORS = {
    "section": Field("part", rank=1),
    "operator": Field("operator"),
    "path_ns": Field("on path ns", ",.3f"),
    "share": Field("share", ".1%", rank=2),
    "spent": Field("spent on", shortens=True),
}
CLASSES = 3  # of parts that a line of an operator names
WHAT_IF = {"fields": Field("field"), "latency_ns": Field("latency ns", ",.3f"), "change": Field("change", "+.1%")}
ERROR_BARS = {
    "figure": Field("figure"),
    "range": Field("range"),
    "latency_at_low_ns": Field("ns at its low end", ",.3f", rank=2),
    "latency_at_high_ns": Field("at its high end", ",.3f", rank=1),
    "at_low": Field("low", "+.2%"),
    "at_high": Field("high", "+.2%"),
    "source": Field("source", shortens=True),
}
SAVINGS = {"field": Field("price"), "saves": Field("saves", "s"), "share": Field("of all", ".1%")}
MOST_SAVINGS = 5
LEAST_CHANGE = 0.001  # of the latency: what is less is not worth a line
LONG = "not simulated: a table takes many runs, and this one is long; --what-if simulates it"
WAITED = "not simulated: the host waited for results in between, so the run cannot be repeated without the host"
USAGE = {
    "kind": Field("class"),
    "parts": Field("parts", ",d", rank=2),
    "used": Field("used", ",d", rank=1),
    "mean": Field("mean", ".1%", rank=3),
    "most": Field("most", ".1%"),
    "busiest": Field("busiest part"),
}
QUEUEING = {
    "name": Field("operation"),
    "count": Field("count", ",d", rank=1),
    "queued_ns": Field("queued ns", ",.1f"),
    "contention_ns": Field("contention ns", ",.1f"),
    "served_ns": Field("served ns", ",.1f", rank=3),
    "longest_queue_ns": Field("longest queue ns", ",.1f", rank=2),
}


def explain_result(
    result: RunResult, display: Display, *, explain: bool, what_if: bool
) -> tuple[Explanation | None, WhatIf | None, dict[str, Any]]:
    """What is asked for: the explanation or else the what-if table alone, and what that adds to the summary of a run."""
    if explain:
        display.say("explaining the run")
        explanation = result.explain(what_if=what_if, on_stage=display.say, on_runs=display.on_runs)
        return explanation, None, {"explain": explanation.to_dict()}
    if not what_if:
        return None, None, {}
    table = result.what_if(on_stage=display.say, on_runs=display.on_runs)
    return None, table, {"what_if": table and table.to_dict()}


def show_explanation(found: Mapping[str, Any], *, long: bool) -> None:
    """Print `Explanation.to_dict()`. `long`: of a run that is too long for a what-if table that nobody asked for."""
    lines = found["lines"]  # of kernels; tasks have none
    whole = found["critical_path_ns"]
    _title(f"critical path: {whole:,.3f} ns, the latency")
    _show_shares("spent on", found["critical_path"].items(), whole)
    _title(f"critical path by operation{', and by line of the kernels' if lines else ''}")
    _show_shares("operation", ((name or NO_OPERATION, ns) for name, ns in found["operations"].items()), whole)
    if lines:
        say()
        rows = [{**one, "place": one["place"] or NO_LINE, "share": one["path_ns"] / whole} for one in found["lines"]]
        show_first(rows, LINES, MOST_SHOWN)
    if found["launches"]:
        _title("launches")
        launches = [{**one, "share": one["path_ns"] / whole} for one in found["launches"]]
        show_first(launches, LAUNCHES, MOST_SHOWN)
    if found["operators"]:
        _title("operators, and what the path through each is spent on")
        show_first([_tell_operator(one, whole) for one in found["operators"]], OPERATORS, MOST_OPERATORS)
    show_what_if(found["what_if"], long=long)
    _title(f"utilisation over {found['window_ns']:,.3f} ns, the busiest of each class")
    show_first(found["utilisation"], USAGE, MOST_SHOWN)
    _title("queueing against service, summed over operations")
    show_first(found["queueing"], QUEUEING, MOST_SHOWN)
    if found["network"] is not None:
        show_network_waits(found["network"], MOST_SHOWN)
    if found["roofline"] is not None:
        _title("roofline")
        say(_roofline(found["roofline"]))
    if found["error_bars"] is not None:
        _show_error_bars(found["error_bars"])
    if found["savings"]:
        _title(f"what would save most of {format_joules(found['energy_aj'])}: each price at half")
        rows = [{**one, "saves": format_joules(one["saves_aj"])} for one in found["savings"]]
        show_first(rows, SAVINGS, MOST_SAVINGS)
    if found["advice"]:
        _title("advice")
    for sentence in found["advice"]:
        say(sentence)


def _tell_operator(one: Mapping[str, Any], whole: float) -> dict[str, Any]:
    """The row of an operator, with the classes of part that take most of its time."""
    spent = list(one["spent_ns"].items())[:CLASSES]
    texts = [f"{kind} {ns / one['path_ns']:.0%}" for kind, ns in spent if one["path_ns"]]
    return {**one, "share": one["path_ns"] / whole, "spent": ", ".join(texts)}


def _show_error_bars(found: Mapping[str, Any]) -> None:
    """Print `ErrorBars.to_dict()`."""
    latency, low, high = (found[name] for name in ("latency_ns", "latency_low_ns", "latency_high_ns"))
    _title(f"error bars: {low:,.3f} to {high:,.3f} ns, for figures that are chosen or have a range")
    rows = [
        {
            **one,
            "figure": f"{one['field']} {one['value']:g} {one['unit']}".rstrip(),
            "range": f"{one['low']:g} … {one['high']:g}" if one["stated"] else "± 20%",
            "at_low": one["latency_at_low_ns"] / latency - 1,
            "at_high": one["latency_at_high_ns"] / latency - 1,
        }
        for one in found["figures"]
    ]
    if not rows:
        say("the latency depends on none of them")
    else:
        show_first(rows, ERROR_BARS, MOST_SHOWN)
        say(
            f"all at their fast ends at once {found['fastest_ns']:,.3f} ns, at their slow ends {found['slowest_ns']:,.3f} ns"
        )
    if found["not_varied"]:
        say(f"not varied, as they decide more than times: {', '.join(found['not_varied'])}")


def _show_shares(title: str, spent: Iterable[tuple[str, float]], whole: float) -> None:
    rows = [{"name": name, "ns": ns, "share": ns / whole} for name, ns in spent]
    show_first(rows, {"name": Field(title), "ns": Field("ns", ",.3f"), "share": Field("share", ".1%")}, MOST_SHOWN)


def _title(text: str) -> None:
    say(f"\n{text}", bold=True)


def show_what_if(found: Mapping[str, Any] | None, *, long: bool = False) -> None:
    """Print `WhatIf.to_dict()` of a run with everything twice as fast, or why there is none."""
    named = found is not None and any("name" in one for one in found["alternatives"])
    better = "faster" if found is None else "twice as fast or large" if named else "twice as fast"
    _title(f"what if {'a part of the run' if named else 'a field of the topology'} were {better}, simulated")
    if found is None:
        say(LONG if long else WAITED)
        return
    rows = [
        {**one, "fields": one.get("name") or " + ".join(_change(name, **to) for name, to in one["fields"].items())}
        for one in found["alternatives"]
        if abs(one["change"]) >= LEAST_CHANGE
    ]
    if not rows:
        say(f"no field changes the latency by {LEAST_CHANGE:.1%} or more")
        return
    show_first(rows, {**WHAT_IF, "fields": Field("part" if named else "field")}, MOST_SHOWN)


def _change(name: str, **values: float) -> str:
    return f"{name} {values['from']:g} → {values['to']:g}"


def _roofline(found: Mapping[str, Any]) -> str:
    work = "1 PE" if found["pes"] == 1 else f"{found['pes']:,} PEs"
    ceilings = [f"{one['kind']} {one['least_ns']:,.3f}{_mean(one)}" for one in found["ceilings"]]
    rates = [f"{found['achieved_gbs']:,.1f} of {found['attainable_gbs']:,.1f} GB/s to and from memory"]
    if found["achieved_tflops"]:
        rates.insert(0, f"{found['achieved_tflops']:,.3f} of {found['attainable_tflops']:,.3f} TFLOPS")
    return (
        f"bound by {found['bound']}: the work of {work} needs {found['least_ns']:,.3f} ns there at least; "
        f"kernels took {found['kernel_ns']:,.3f} ns, so {found['share']:.1%} of what is possible\n"
        f"least ns of each class: {', '.join(ceilings)}\n{', '.join(rates)}"
    )


def _mean(ceiling: Mapping[str, Any]) -> str:
    return f" ({ceiling['mean_ns']:,.3f} in the mean of the PEs)" if ceiling["is_uneven"] else ""
