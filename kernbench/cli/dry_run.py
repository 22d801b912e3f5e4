"""`kernbench sweep --dry-run`: the points that would run, with estimates of time and memory."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from kernbench.modes import Mode
from kernbench.text import plural

if TYPE_CHECKING:
    from kernbench.sweep.estimate import Estimate
    from kernbench.sweep.plan import Plan

UNITS = (("h", 3600.0), ("min", 60.0))


def show_plan(plan: Plan, workers: int | None, *, as_json: bool) -> None:
    """Print the plan and the estimates of a sweep; trial runs are not kept."""
    from kernbench.sweep.auto import plan_events
    from kernbench.sweep.estimate import count_programs, estimate

    guess = estimate(plan, workers)
    most = estimate(plan_events(plan), workers) if plan.grid.mode == Mode.AUTO else None
    machines = plan.points.count_machines()
    programs = count_programs(plan.points)
    counts = {"points": plan.most_points, "programs": programs, "machines": machines, "missing": guess.points}
    if as_json:
        figures: dict[str, object] = {
            "workers": guess.workers,
            "seconds": guess.seconds,
            "peak_bytes": guess.peak_bytes,
        }
        if most is not None:
            figures["most_events"] = {"points": most.points, "seconds": most.seconds, "peak_bytes": most.peak_bytes}
        click.echo(json.dumps({"sweep": plan.grid.name, **counts, **figures, "out": str(plan.directory)}))
        return
    which = f"{plural(programs, 'program')}, {plural(machines, 'machine')}"
    if plan.most_points > len(plan.points):
        click.echo(f"up to {plural(plan.most_points, 'point')}; the first {len(plan.points)}: {which}")
        click.echo(f"{len(plan.missing):,} of the first {_are(len(plan.missing))} not in {plan.directory} yet")
    else:
        click.echo(f"{plural(plan.most_points, 'point')}, {which}")
        click.echo(f"{guess.points:,} of the points {_are(guess.points)} not in {plan.directory} yet")
    if most is None:
        click.echo(_effort(guess))
    else:
        click.echo(f"bounds: {_effort(guess)}")
        click.echo(f"events, if bounds decided nothing: {_effort(most)}")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _effort(guess: Estimate) -> str:
    from kernbench.sweep.estimate import PATIENCE_S

    if guess.took_too_long:
        return f"a few of them took more than {PATIENCE_S:.0f} s, so there is no estimate"
    if guess.seconds is None or guess.peak_bytes is None:
        return "nothing to run"
    where = "this process" if guess.workers == 1 else f"{guess.workers} workers"
    return f"about {_time(guess.seconds)} and {guess.peak_bytes / 1e6:,.0f} MB in {where}, from a few points tried just now"


def _time(seconds: float) -> str:
    for unit, size in UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.1f} s"
