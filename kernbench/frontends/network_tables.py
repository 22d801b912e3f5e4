"""The summary of a step of a network: tokens a second, the time of each operator, and what is not modelled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernbench.text import plural
from kernbench.text_table import Column, TextTable, list_table
from kernbench.units import AJ_PER_J, format_joules

if TYPE_CHECKING:
    from kernbench.runs.result import RunResult

_TIMES = {"decode": "time per token", "prefill": "first token", "chunked": "time per token"}  # of a step, by phase
_DECIMAL = (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3))


def network_tables(result: RunResult) -> list[TextTable]:
    """As of `Workload.tables`."""
    told = result.network
    assert told is not None
    tables = [_answer(told, result), _operators(told["operators"], _find_busy_ns(told))]
    if told.get("choices"):
        tables.append(_choices(told["choices"]))
    return [*tables, list_not_modelled(told["not_modelled"])]


def _answer(told: Mapping[str, Any], result: RunResult) -> TextTable:
    held = told["memory_bytes"]
    lines = [
        (
            _name_step(told),
            f"{told['step_ns'] / 1e6:,.4f} ms",
            f"a step of all {told['layers']} layers, simulated time",
        ),
        *_rates(told),
        *_pipeline(told["pipeline"]),
        *_routing(told["routing"]),
        *_energy(told),
        ("least", f"{told['least_ns'] / 1e6:,.4f} ms", f"{told['share_of_least']:.1%} of peak; {say_least(told)}"),
        (
            "memory",
            say_bytes(sum(held.values())),
            f"of {say_bytes(told['sip_bytes'])} of a {told['place']}; {say_held(held)}",
        ),
        ("simulated", f"{result.latency_ns:,.3f} ns", "latency of the launches that stand for all"),
        ("simulation", f"{result.wall_s:.2f} s", f"wall time; {result.events:,} events"),
    ]
    return list_table(lines)


def _name_step(told: Mapping[str, Any]) -> str:
    """What the time of a step is; the latency of a pipeline is that of a micro-batch."""
    if told["takes"] == "tokens":
        return _TIMES[told["phase"]]
    return "step" if told["pipeline"] else "latency"


def _find_busy_ns(told: Mapping[str, Any]) -> float:
    """The time that operators share: of a pipeline that of one micro-batch, without sends."""
    of_stages = told["pipeline"]
    return of_stages["latency_ns"] - (of_stages["stages"] - 1) * of_stages["send_ns"] if of_stages else told["step_ns"]


def _pipeline(told: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """The stages of a pipeline; no line without one."""
    if told is None:
        return []
    idle = f"stages idle {told['idle']:.1%}"
    count = told["micro_batches"]
    batches = f"{count:,} micro-batch" + ("" if count == 1 else "es")
    send = f"sends of {told['send_ns'] / 1e3:,.3f} us"
    slowest = f"slowest stage {told['slowest_stage_ns'] / 1e6:,.4f} ms"
    return [
        ("latency", f"{told['latency_ns'] / 1e6:,.4f} ms", f"of a micro-batch through {told['stages']} stages, {send}"),
        ("pipeline", batches, f"{slowest}; {idle}"),
    ]


def _routing(told: Mapping[str, Any] | None) -> list[tuple[str, str, str]]:
    """The experts that have tokens; no line for a network without any."""
    if told is None:
        return []
    expected = f", {told['expected']:,.1f} expected" if told["rule"] == "uniform" else ""
    most = plural(told["most_tokens"], "token")
    remark = f"of {told['experts']:,} a layer have tokens, at most {most}; routing {told['rule']}{expected}"
    return [("experts", f"{told['distinct']:,}", remark)]


def _rates(told: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Tokens a second of a user and of the machine; of an encoder what it takes."""
    used = f"{plural(told['sips'], told['place'])} in use"
    if told["takes"] != "tokens":
        batch = f"{told['sequences']:,} at a time, {plural(told['tokens'] // told['sequences'], 'token')} each; {used}"
        return [("the machine", f"{told['sequences_s']:,.1f} {told['takes']}/s", batch)]
    unit = "prompt tokens/s" if told["phase"] == "prefill" else "tokens/s"
    sequences, beside = told["sequences"], ""
    if told["phase"] == "chunked":
        sequences, beside = sequences - 1, " beside the chunk"
        used = f"{told['tokens'] - sequences:,} of the prompt and {sequences:,} new ones a step; {used}"
    return [
        ("a user", f"{told['user_tokens_s']:,.1f} {unit}", f"one of {plural(sequences, 'sequence')}{beside}"),
        ("the machine", f"{told['tokens_s']:,.1f} {unit}", used),
    ]


def _energy(told: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The energy of a token; no line where a figure is missing."""
    if told["joules_per_token"] is None:
        return []
    dynamic, static = (round(told[f"step_{kind}_j"] * AJ_PER_J) for kind in ("dynamic", "static"))
    figure = format_joules(told["joules_per_token"] * AJ_PER_J)
    remark = f"of a step {format_joules(dynamic)} dynamic, {format_joules(static)} static, of the whole machine"
    return [("energy per token", figure, remark)]


def say_least(told: Mapping[str, Any]) -> str:
    """The least bytes and flops of a step."""
    return f"{say_bytes(told['least_bytes'])}, {told['least_flops'] / 1e9:,.4g} GFLOP"


def say_held(held: Mapping[str, int]) -> str:
    """What the memory of a SIP holds."""
    return ", ".join(f"{name} {say_bytes(nbytes)}" for name, nbytes in held.items())


def say_bytes(nbytes: float) -> str:
    """A size in decimal units, as those of weights and memories are given."""
    unit, factor = next(((unit, factor) for unit, factor in _DECIMAL if nbytes >= factor), ("B", 1))
    return f"{nbytes / factor:,.4g} {unit}"


def _operators(rows: Sequence[Mapping[str, Any]], step_ns: float) -> TextTable:
    """A line for each operator of each part that was simulated."""
    return TextTable(
        [
            Column("part", [_first(rows, i) for i in range(len(rows))]),
            Column("times", [f"{row['times']:,}" for row in rows], right=True),
            Column("operator", [row["operator"] for row in rows]),
            Column("us", [f"{row['ns'] / 1e3:,.3f}" for row in rows], right=True),
            Column("of step", [f"{row['times'] * row['ns'] / step_ns:.1%}" for row in rows], right=True),
            Column("bound by", [row["bound"] or "" for row in rows]),
            Column(
                "of peak", ["" if row["bound"] is None else f"{row['share_of_peak']:.1%}" for row in rows], right=True
            ),
        ]
    )


def _first(rows: Sequence[Mapping[str, Any]], i: int) -> str:
    """The part of a row, where another begins."""
    section = rows[i]["section"]
    return "" if i and rows[i - 1]["section"] == section else section


def _choices(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """A line for each choice: what was chosen, of how many candidates, how many of them ran, and their times alone."""

    def tell(row: Mapping[str, Any], name: str) -> str:
        return "" if row["fixed"] else "cannot run" if row[name] is None else f"{row[name] / 1e3:,.3f}"

    tried = [[one for one in row.get("candidates", ()) if one["ns"] is not None] for row in rows]
    return TextTable(
        [
            Column("choice", [row["choice"] for row in rows]),
            Column("chosen", [row["chosen"] for row in rows], right=True),
            Column("of", ["fixed" if row["fixed"] else f"{len(row['candidates'])}" for row in rows], right=True),
            Column(
                "ran", ["" if row["fixed"] else f"{len(ran)}" for row, ran in zip(rows, tried, strict=True)], right=True
            ),
            Column("us alone", [tell(row, "ns") for row in rows], right=True),
            Column("usual", [tell(row, "usual_ns") for row in rows], right=True),
        ]
    )


def list_not_modelled(lines: Sequence[str]) -> TextTable:
    """A line for each thing that the figures leave out."""
    return list_table([("not modelled", "", line) for line in lines])
