"""What a run found: errors by family and gaps by approximation, as a file that is kept, `results/reference/accuracy.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from statistics import fmean
from typing import Any

from benches.accuracy.family import OUTLIER, Family, Point, Rule
from kernbench.evaluation.measured import find_errors

REFERENCE = Path("results/reference/accuracy.json")
DIGITS = 4  # of errors, which are shares
RISE = 0.001  # of a mean error, from which on it is flagged

Record = dict[str, dict[str, dict[str, Any]]]


def measure(family: Family) -> dict[str, Any]:
    """Run a family, and the experiments that show why cases are outliers; of data that are not shipped the date is kept."""
    points = family.run({})
    shown = {rule.why: found for rule in family.rules if rule.changed and (found := _show(family, rule, points))}
    return {
        **of_family(points),
        **({"measured_on": f"{date.today():%Y-%m-%d}"} if family.data else {}),
        **({"shown": shown} if shown else {}),
    }


def _show(family: Family, rule: Rule, points: Sequence[Point]) -> dict[str, float] | None:
    """The mean errors of the outliers of a rule as they are, and with the fields that the rule changes."""
    own = {point.case for point in points if abs(point.error) > OUTLIER and family.find_rule(point) is rule}
    if not own:
        return None
    return {
        name: round(fmean(point.error for point in found if point.case in own), DIGITS)
        for name, found in (("as it is", points), ("changed", family.run(rule.changed)))
    }


def of_family(points: Sequence[Point]) -> dict[str, Any]:
    """The figures of a family, and the error of each case."""
    found = find_errors([point.ours for point in points], [point.theirs for point in points])
    return {
        "points": found.points,
        **{name: round(getattr(found, name), DIGITS) for name in ("mean", "median", "worst", "ordered")},
        "cases": of_approximation(points)["cases"],
    }


def of_approximation(points: Sequence[Point]) -> dict[str, Any]:
    """The gap of each case; of cases with one name the largest."""
    cases = dict[str, float]()
    for point in sorted(points, key=lambda one: abs(one.error)):
        cases[point.case] = round(point.error, DIGITS)
    return {"cases": cases}


def read(path: Path = REFERENCE) -> Record:
    """A record that was kept; empty if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"families": {}, "approximations": {}}


def write(record: Record, path: Path = REFERENCE) -> None:
    """Keep a record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def find_risen(found: Record, known: Record) -> list[str]:
    """The families whose mean error rose, with both errors."""
    return [
        f"{name}: {known['families'][name]['mean']:.1%} -> {one['mean']:.1%}"
        for name, one in found["families"].items()
        if name in known["families"] and one["mean"] > known["families"][name]["mean"] + RISE
    ]
