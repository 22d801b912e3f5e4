"""Estimate of the time and memory of a sweep, from trial runs of a few of its points.

A few structures are tried, each in a process of its own, so that the peak of memory is known: first one point, then some more
that share its structure. No row is kept.
"""

from __future__ import annotations

import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernbench.engine.jit_status import needs_compile
from kernbench.modes import Mode
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import group_points
from kernbench.sweep.execution.executor import ExecutorConfig, execute
from kernbench.sweep.plan import Plan
from kernbench.sweep.results.store import Store

TRIED = 3  # structures
MANY = 128  # points of each that are bounded together
FEW = 3  # points of each, and more if
QUICK_S = 0.2  # they take no longer than this
PATIENCE_S = 30.0  # for all of them
COMPILING_S = 150.0  # more, where the loops are compiled first
ALONE = "import sys; from kernbench.sweep.estimate import run_trial; run_trial(sys.argv[1])"


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial of one structure: seconds for its first point, seconds for each further one, and the peak memory of the process.

    `shared_bytes` of the peak are mapped from files (libraries, the cache), and all workers share them.
    """

    first_s: float
    more_s: float
    peak_bytes: int
    shared_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Time and memory of a sweep. Without a trial (nothing is missing, or `PATIENCE_S` was too short) figures are None.

    programs: structures among the points that are missing, each compiled and recorded once, whatever figures differ.
    """

    points: int
    programs: int
    workers: int
    trial: Trial | None
    took_too_long: bool = False

    @property
    def seconds(self) -> float | None:
        """Of wall time, on all workers."""
        if self.trial is None:
            return None
        return (self.programs * self.trial.first_s + (self.points - self.programs) * self.trial.more_s) / self.workers

    @property
    def peak_bytes(self) -> int | None:
        """Of all workers together."""
        if self.trial is None:
            return None
        return self.workers * (self.trial.peak_bytes - self.trial.shared_bytes) + self.trial.shared_bytes


def count_programs(points: Points) -> int:
    """The number of structures of points: those that differ in figures of the topology alone share one."""
    return len(group_points(points))


def estimate(plan: Plan, workers: int | None = None) -> Estimate:
    """Try some points of a plan. Errors: InputError for fewer than one worker."""
    missing = plan.missing
    groups = group_points(missing)
    count = ExecutorConfig(workers).count(len(missing))
    total, programs = len(missing), len(groups)
    if missing and plan.most_points > len(plan.points):  # a search has not asked for all its points yet
        total += plan.most_points - len(plan.points)
        programs = 1 if programs == 1 else round(programs * total / len(missing))
    if not groups:
        return Estimate(total, programs, count, None)
    picked: list[int] = sorted({round(share * (len(groups) - 1)) for share in np.linspace(0, 1, TRIED)})
    trials: list[Trial] = []
    started = time.monotonic()
    for i in picked:
        left_s = PATIENCE_S - (time.monotonic() - started) + (COMPILING_S if needs_compile() else 0)
        try:
            trials.append(_try(groups[i], left_s))
        except subprocess.TimeoutExpired:
            break
    if not trials:
        return Estimate(total, programs, count, None, took_too_long=True)
    return Estimate(total, programs, count, _average(trials))


def run_trial(path: str) -> None:
    """Try the points that are pickled in a file, in this process, and print seconds and bytes."""
    points: Points = pickle.loads(Path(path).read_bytes())
    _run(points[:1])  # imports and, where need be, compiles
    first = _run(points[:1])
    few = points if points.context.mode == Mode.ANALYTIC else points[:FEW]  # many bounds are found together
    more = _run(few) / len(few)
    if more < QUICK_S:  # most of it was for what all share, which is there now
        more = _run(points) / len(points)
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    print(first, more, peak, _shared_bytes())


def _shared_bytes() -> int:
    """The resident memory of this process that is mapped from files; 0 if the system does not report it."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("RssFile:"):
                return int(line.split()[1]) * 1024
    return 0


def _run(points: Points) -> float:
    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        execute(points, Store(Path(directory)), ExecutorConfig(1), lambda _point, _row: None)
        return time.perf_counter() - started


def _try(group: Points, patience_s: float) -> Trial:
    picked = np.unique(np.linspace(0, len(group) - 1, min(MANY, len(group))).astype(int))
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(pickle.dumps(group.take(picked)))
        file.flush()
        done = subprocess.run(
            [sys.executable, "-c", ALONE, file.name], capture_output=True, text=True, timeout=patience_s, check=True
        )
    first, rest, peak, shared = done.stdout.split()[-4:]
    return Trial(float(first), min(float(first), float(rest)), int(peak), int(shared))


def _average(trials: Sequence[Trial]) -> Trial:
    first = sum(trial.first_s for trial in trials) / len(trials)
    more = sum(trial.more_s for trial in trials) / len(trials)
    largest = max(trials, key=lambda trial: trial.peak_bytes)
    return Trial(first, more, largest.peak_bytes, largest.shared_bytes)
