"""`kernbench sweep --dry-run`: the points that would run, with estimates of time and memory."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import click

from kernbench.cli.output.compiling import announce_compiling
from kernbench.cli.output.progress import status_line
from kernbench.cli.output.screen import say
from kernbench.cli.show.sweep import values_of
from kernbench.library import show_path
from kernbench.modes import Mode
from kernbench.sweep.auto import plan_events
from kernbench.sweep.estimate import BUDGET_S, Estimate, count_programs, estimate
from kernbench.sweep.fingerprints import note_inputs
from kernbench.sweep.plan import Plan
from kernbench.text import plural
from kernbench.user_modules import is_read

UNITS = (("h", 3600.0), ("min", 60.0))


def show_plan(plan: Plan, workers: int | None, *, as_json: bool) -> None:
    """Print the plan and the estimates of a sweep; trial runs are not kept.

    Where only looking is allowed, a sweep that would run files of the user has no trial, and so no figures.
    """
    auto = plan.grid.mode == Mode.AUTO
    budget_s = BUDGET_S / 2 if auto else BUDGET_S
    unread = [path for path in note_inputs(plan.grid, plan.inputs) if is_read(Path(path))]
    if not unread:
        announce_compiling()
    with status_line() as tell:
        tell("counting the points" if unread else "trying a few points")
        plans = [plan, plan_events(plan)] if auto else [plan]
        with ThreadPoolExecutor() as threads:  # each waits for the process of its trials
            guess, *others = threads.map(partial(estimate, workers=workers, budget_s=budget_s, tries=not unread), plans)
    most = others[0] if others else None
    machines = plan.points.count_machines()
    programs = count_programs(plan.points)
    grid = plan.grid
    counts = {"points": plan.most_points, "programs": programs, "machines": machines, "missing": guess.points}
    if as_json:
        figures: dict[str, object] = {"workers": guess.workers, **_figures(guess)}
        if most is not None:
            figures["most_events"] = {"points": most.points, **_figures(most)}
        asked = {"workload": grid.workload, "topology": grid.topology, "mode": grid.mode}
        figures["not_run"] = unread
        click.echo(json.dumps({"sweep": grid.name, **asked, **counts, **figures, "out": str(plan.directory)}))
        return
    swept = "; ".join(f"{axis.name} {values_of(axis)}" for axis in grid.axes)
    say(f"{grid.workload} on {grid.topology}, {grid.mode} mode{swept and f': {swept}'}")
    which = plural(machines, "machine")
    if grid.bench is not None:
        which = f"{plural(programs, 'program')}, {which}"
    if plan.most_points > len(plan.points):
        say(f"up to {plural(plan.most_points, 'point')}; the first {len(plan.points)}: {which}")
        say(f"{len(plan.missing):,} of the first {_are(len(plan.missing))} not in {plan.directory} yet")
    else:
        say(f"{plural(plan.most_points, 'point')}, {which}")
        say(f"{guess.points:,} of the points {_are(guess.points)} not in {plan.directory} yet")
    if unread and guess.points:
        shown = ", ".join(map(show_path, unread))
        say(f"how long, and in how much memory, only running {shown} tells; --try runs a few points")
    elif most is None:
        say(_effort(guess))
    else:
        say(f"bounds: {_effort(guess)}")
        say(f"events, if bounds decided nothing: {_effort(most)}")


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _figures(guess: Estimate) -> dict[str, object]:
    """`seconds` is null if nothing says how far a trial was; `least_seconds` if all came to their end."""
    return {
        "seconds": guess.seconds,
        "least_seconds": guess.least_seconds if guess.cut else None,
        "peak_bytes": guess.peak_bytes,
        "tried": len(guess.trials),
        "errors": list(guess.errors),
    }


def _effort(guess: Estimate) -> str:
    if guess.least_seconds is None or guess.peak_bytes is None:
        return "nothing to run"
    where = "this process" if guess.workers == 1 else f"{guess.workers} workers"
    memory = f"{guess.peak_bytes / 1e6:,.0f} MB in {where}"
    least = _time(guess.least_seconds)
    if not guess.cut:
        said = f"about {least} and {memory}, from a few points tried just now"
    elif guess.seconds is None:
        said = f"at least {least} and {memory}: {_how_far(guess)}"
    else:
        said = f"about {_time(guess.seconds)}, at least {least}, and {memory}: {_how_far(guess)}"
    if not guess.errors:
        return said
    verb = "fails" if len(guess.errors) == 1 else "fail"
    return f"{said}\n{len(guess.errors)} of {plural(len(guess.trials), 'point')} tried {verb}: {guess.errors[0]}"


def _how_far(guess: Estimate) -> str:
    """How far the trial that was cut first was."""
    first = guess.cut[0]
    if first.share:
        return f"a point had done {first.share:.0%} of its simulation after {first.first_s:.1f} s"
    return f"after {first.first_s:.1f} s a point had not begun to simulate"


def _time(seconds: float) -> str:
    for unit, size in UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.1f} s"
