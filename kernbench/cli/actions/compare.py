"""What `kernbench compare` does: it compares two results and says what moved."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click
import polars
import polars.selectors

from kernbench.cli.output.energy import REST
from kernbench.cli.output.screen import say, show, show_first
from kernbench.errors import InputError, RunError
from kernbench.modes import Mode
from kernbench.report.tables.moved_points import moved_points
from kernbench.sweep.results.comparison import CHANGE, Comparison, compare
from kernbench.sweep.results.energy_comparison import MovedEnergy
from kernbench.text import plural
from kernbench.text_table import Field
from kernbench.units import format_joules

MOST_SHOWN = 20
MOST_ENERGIES = 8  # parts whose energies differ


def compare_results(
    a: Path, b: Path, thresholds: tuple[str, ...], worse: bool, columns: tuple[str, ...], as_json: bool
) -> None:
    """Show what moved between two results. Errors: RunError for what moved by more than a threshold."""
    limits = dict(map(_read_threshold, thresholds))
    found = compare(a, b, [*columns, *limits])
    over = found.over(limits, worse_only=worse) if limits else found.pairs.clear()
    if as_json:
        click.echo(json.dumps(_summary(found, over)))
    else:
        _show(found)
    problems = _problems(found, over, limits)
    if limits and problems:
        raise RunError("; ".join(problems))


def _read_threshold(text: str) -> tuple[str, float]:
    column, _, share = text.rpartition("=")
    try:
        limit = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
    except ValueError:
        limit = -1.0
    if not 0 <= limit < float("inf"):
        raise InputError(f"--threshold takes a share such as 2% or latency_ns=0.02, and got {text!r}")
    return column or "latency_ns", limit


def _problems(found: Comparison, over: polars.DataFrame, limits: dict[str, float]) -> Iterable[str]:
    allowed = ", ".join(
        f"{column} {limit:.6%}".rstrip("%").rstrip("0").rstrip(".") + "%" for column, limit in limits.items()
    )
    problems: list[str] = []
    if len(over):
        problems.append(f"{len(over)} of {len(found.pairs)} points moved by more than allowed ({allowed}) or failed")
    if len(found.only_a):
        problems.append(_missing(found.only_a, found.a.name, found.b.name))
    if not len(found.pairs) and (found.bounded_a or found.bounded_b):
        problems.append("no point can be compared: each is bounded on one side and simulated on the other")
    return problems


def _missing(rows: polars.DataFrame, name: str, other: str) -> str:
    return f"{plural(len(rows), 'point')} of {name} {'is' if len(rows) == 1 else 'are'} not in {other}"


def _show(found: Comparison) -> None:
    a, b = found.a, found.b
    both = len(found.pairs) + found.bounded_a + found.bounded_b
    say(f"A: {a.name}, {plural(len(a.table), 'point')}")
    say(f"B: {b.name}, {plural(len(b.table), 'point')}, {both} of them in both")
    for name, rows, other in (("A", found.only_a, "B"), ("B", found.only_b, "A")):
        if len(rows):
            say(_missing(rows, name, other))
    for name, count, other in (("A", found.bounded_a, "B"), ("B", found.bounded_b, "A")):
        if count:
            say(
                f"{plural(count, 'point')} left out: bounded in {name} and simulated in {other}, "
                "and a lower bound is no latency"
            )
    for line in _settings(found):
        say(line)
    moved = found.moved()
    if len(moved):
        show(moved_points(found, moved, MOST_SHOWN))
    for column in found.columns:
        for sentence in _sentences(found, column):
            say(sentence)
    for line in (*_certainty(found), *_ratio(found)):
        say(line)
    if operators := found.moved_operators():
        _show_times(operators, "operator", "operators in a step of all layers, by the difference")
    if path := found.moved_path():
        _show_times(path, "spent on", "critical paths, by the difference")
    if moved := found.moved_energy():
        _show_energy(moved)


def _certainty(found: Comparison) -> Iterable[str]:
    """Whether what is uncertain of the machine could turn changes of latency around, of two sweeps with error bars."""
    if found.turnable:
        yield f"for what is uncertain of the machine, {found.turnable} of the changes of latency_ns may be the other way around"
    elif found.turnable == 0:
        yield "no range of an uncertain figure turns a change of latency_ns around"


def _ratio(found: Comparison) -> Iterable[str]:
    """How many times as fast one of two runs is."""
    if not (found.a.is_run and found.b.is_run and len(found.pairs)):
        return
    a, b = (found.pairs[f"{found.columns[0]}_{side}"][0] for side in "ab")
    if a and b and a != b:
        yield f"B is {max(a, b) / min(a, b):.2f} times {'faster' if b < a else 'slower'} than A"


def _show_times(times: list[tuple[str, float, float]], what: str, title: str) -> None:
    """Where the difference is: on the critical path, or in the operators of a network."""
    names = {
        "kind": Field(what),
        "a": Field("A ns", ",.3f"),
        "b": Field("B ns", ",.3f"),
        "more": Field("B - A ns", "+,.3f"),
    }
    rows = [{"kind": kind, "a": a, "b": b, "more": b - a} for kind, a, b in times if a != b]
    if not rows:
        return
    say(f"\n{title}", bold=True)
    show_first(rows, names, MOST_SHOWN)


def _show_energy(moved: Sequence[MovedEnergy]) -> None:
    """In what part the energies differ."""
    names = {
        "part": Field("part"),
        "kind": Field("kind"),
        "a": Field("A", "s"),
        "b": Field("B", "s"),
        "more": Field("B - A", "s"),
    }
    rows = [
        {
            "part": one.part or REST,
            "kind": one.kind,
            "a": format_joules(one.a_aj),
            "b": format_joules(one.b_aj),
            "more": f"{'+' if one.b_aj > one.a_aj else '-'}{format_joules(abs(one.b_aj - one.a_aj))}",
        }
        for one in moved
    ]
    more = sum(one.b_aj - one.a_aj for one in moved)
    say(f"\nenergy, by the difference: B takes {format_joules(abs(more))} {'more' if more > 0 else 'less'}", bold=True)
    show_first(rows, names, MOST_ENERGIES)


def _settings(found: Comparison) -> Iterable[str]:
    """The settings that differ between two runs, or two evaluations."""
    for name, values in found.changed_settings().items():
        a, b = ("as it stands" if value is None else value for value in values)
        yield f"{name}: {a} in A, {b} in B"


def _sentences(found: Comparison, column: str) -> Iterable[str]:
    """What moved of simulated points, then of bounds."""
    pairs = found.pairs
    bounds = (pairs["fidelity_a"].eq_missing(Mode.ANALYTIC)) | (pairs["fidelity_b"].eq_missing(Mode.ANALYTIC))
    for some, name in ((pairs.filter(~bounds), column), (pairs.filter(bounds), f"{column}, bounds alone")):
        changes = some[column + CHANGE].drop_nulls()
        moved = changes.filter(changes != 0)
        if len(moved):
            yield f"{name}: {len(moved)} of {len(changes)} moved, by {moved.min():+.3%} to {moved.max():+.3%}"
        elif len(changes) or (name == column and not len(pairs)):
            yield f"{name}: none of {len(changes)} moved"


def _summary(found: Comparison, over: polars.DataFrame) -> dict[str, Any]:
    return {
        "a": found.a.name,
        "b": found.b.name,
        "points": len(found.pairs),
        "only_a": len(found.only_a),
        "only_b": len(found.only_b),
        "bounded_a": found.bounded_a,
        "bounded_b": found.bounded_b,
        "settings": {name: {"a": a, "b": b} for name, (a, b) in found.changed_settings().items()},
        "columns": list(found.columns),
        "moved": _rows(found.moved()),
        "over": _rows(over),
        **({} if found.turnable is None else {"turnable": found.turnable}),
        "operators": [{"operator": name, "a_ns": a, "b_ns": b} for name, a, b in found.moved_operators()],
        "critical_path": [{"kind": kind, "a_ns": a, "b_ns": b} for kind, a, b in found.moved_path()],
        "energy": [one._asdict() for one in found.moved_energy()],
    }


def _rows(table: polars.DataFrame) -> list[dict[str, Any]]:
    """Rows for JSON, which has no infinity: a change from zero is null."""
    floats = polars.selectors.float()
    return table.with_columns(polars.when(floats.is_finite()).then(floats)).to_dicts()
