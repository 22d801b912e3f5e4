"""The page of shares of peak, from a record alone."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from benches.operators.steps import LEAST, STEPS, Found, Step

PAGE = Path("docs/operators.md")
LEAST_OF_STEP = 0.005
GENERATED = "<!-- Written by `make operators`; change benches/operators instead. -->"
INTRODUCTION = (
    "What share of its peak does each operator of a network reach, and what keeps it from more? A step of a network was run",
    "on each machine below. *Of peak* is the least time of an operator over its own, by what bounds it: flops at the rate",
    "of the matrix engines, or bytes of weights and cache at that of the memory ([least](workloads.md#what-is-answered)).",
    "*Its time goes to* names the classes of part with the largest shares of the critical path through the operator ([their",
    "meaning](explain.md#critical-path)). All kernels are those that [networks](workloads.md#operators-and-their-kernels)",
    "run with. Operators of less than half a percent of a step are left out. `make operators` writes this page and",
    "`results/reference/operators.json`.",
)
HEAD = "| operator | of step | bound by | of peak | its time goes to |\n|---|---|---|---|---|"


def make_page(record: dict[str, Found]) -> str:
    """The text of the page."""
    parts = ["# Operators: shares of peak", GENERATED, "\n".join(INTRODUCTION)]
    known = [step for step in STEPS if step.name in record]
    for machine, steps in groupby(known, lambda step: step.machine):
        parts.append(f"## On {machine}")
        parts += [_tell_step(step, record[step.name]) for step in steps]
    return "\n\n".join(parts) + "\n"


def _tell_step(step: Step, found: Found) -> str:
    settings = ", ".join(step.settings)
    rows = [
        [
            one["operator"],
            _share(one["of_step"]),
            one["bound"] or "",
            _share(one["share_of_peak"]),
            _tell_spent(one["spent"]),
        ]
        for one in found["operators"]
        if one["of_step"] >= LEAST_OF_STEP
    ]
    took = f"{found['step_ns'] / 1e6:,.3f} ms, {_share(found['share_of_least'])} of peak"
    title = f"**{step.network}, {settings}**: {took}. *Repeat:* `{step.command}`."
    return "\n\n".join([title, "\n".join([HEAD, *(f"| {' | '.join(row)} |" for row in rows)])])


def _tell_spent(spent: dict[str, float]) -> str:
    return ", ".join(f"{kind} {share:.0%}" for kind, share in spent.items() if share >= LEAST).replace("%", " %")


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}".replace("%", " %")
