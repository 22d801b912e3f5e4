"""Trials of a few points of a sweep in a process of its own, whose peak memory is known and which can be stopped at any time.

The process writes what it knows of the structure that it tries, a line of JSON each time, so that a trial that is stopped has
told how far it came. No row is kept.
"""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, Any

import numpy as np

from kernbench.engine.jit_status import RUN_POINTS, needs_compile
from kernbench.frontends.registry import FRONT_ENDS
from kernbench.limits.memory_budget import read_proc_bytes
from kernbench.modes import Mode
from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.executor import ExecutorConfig, execute
from kernbench.sweep.execution.point_progress import PointProgress
from kernbench.sweep.plan import plan_sweep
from kernbench.sweep.point import Point
from kernbench.sweep.results.store import Store
from kernbench.sweep.row import Row

MANY = 128  # points of a structure that are bounded together
FEW = 3  # points of a structure, and more if
QUICK_S = 0.2  # they take no longer than this
ENOUGH = 0.01  # of the simulation of a point, from which the rest is extrapolated
LOOK_S = 0.1  # how often the time that is left is found again
PATIENCE_S = 30.0  # of trials that have said nothing yet from which the rest could be extrapolated
START_S = 30.0  # the most that the process may take to begin, and if
COMPILING_S = 150.0  # the loops are compiled first
ALONE = "import sys; from kernbench.sweep.trial import run_trials; run_trials(*sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class Trial:
    """What is known of a structure: seconds for its first point and for each further one, and the peak memory of the process.

    `share` is None for a trial that came to its end. Of one that did not, it is how much of the simulation of the first point
    was done, 0 to 1, and the seconds are those until then; `more_s` is of the simulation. `shared_bytes` of the peak are mapped
    from files (libraries, the cache), and all workers share them. `error` is that of the first point, if it fails.
    """

    first_s: float
    more_s: float
    peak_bytes: int
    shared_bytes: int = 0
    share: float | None = None
    error: str | None = None

    @property
    def whole(self) -> Trial | None:
        """The trial as if it had come to its end; None if nothing is known of how far it was."""
        if self.share is None:
            return self
        if not self.share:
            return None
        more_s = self.more_s / self.share
        return replace(self, first_s=self.first_s - self.more_s + more_s, more_s=more_s, share=None)


def try_groups(groups: Sequence[Points], ends: float, most_s: Callable[[Sequence[Trial]], float]) -> list[Trial]:
    """Try the points of some structures, one after the other; the last trial may not have come to its end.

    The process divides the time until `ends` (of `time.time`) between the structures. It is stopped then, or `most_s` of the
    trials so far after the call if that is later. A process that has just begun gets a second, and `PATIENCE_S` until its first
    trial is known how far it is.
    """
    lines: SimpleQueue[bytes | None] = SimpleQueue()
    started = time.time()
    begin_s = COMPILING_S if needs_compile(RUN_POINTS) else START_S

    def left_s(trials: Sequence[Trial], begun: float | None) -> float:
        if begun is None:
            return started + begin_s - time.time()
        return max(ends, begun + _least_s(trials), started + most_s(trials)) - time.time()

    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        file.write(pickle.dumps([_some(group) for group in groups]))
        file.flush()
        command = [sys.executable, "-c", ALONE, file.name, str(ends)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
            try:
                trials, ended = _watch(lines, left_s)
                died = ended and process.wait() != 0
            finally:
                process.kill()
    if died:
        last = trials[-1] if trials else Trial(0.0, 0.0, 0)
        trials = [
            *trials[:-1],
            replace(last, share=0.0, error="the process of the trial died; it may need more memory"),
        ]
    return trials


def _least_s(trials: Sequence[Trial]) -> float:
    """Seconds from its first word that a process of trials has at least."""
    return 1.0 if any(trial.whole or trial.error for trial in trials) else PATIENCE_S


def _some(group: Points) -> Points:
    return group.take(np.unique(np.linspace(0, len(group) - 1, min(MANY, len(group))).astype(int)))


def _read(stream: IO[bytes], lines: SimpleQueue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _watch(
    lines: SimpleQueue[bytes | None], left_s: Callable[[Sequence[Trial], float | None], float]
) -> tuple[list[Trial], bool]:
    """The trials as far as they come, and whether the process came to its end."""
    trials: list[Trial] = []
    begun: float | None = None
    told = 0.0  # when the last line came
    while True:
        so_far = _waited(trials, time.time() - told)
        left = left_s(so_far, begun)
        if left <= 0:
            return so_far, False
        try:
            line = lines.get(timeout=min(left, LOOK_S))
        except Empty:
            continue
        if line is None:
            return so_far, True
        with suppress(ValueError, TypeError, KeyError, AttributeError):  # a line of somebody else
            found: dict[str, Any] = json.loads(line)
            number = found.pop("structure")
            trials[number:] = [Trial(**found)]
            told = time.time()
            begun = begun or told


def _waited(trials: Sequence[Trial], more_s: float) -> list[Trial]:
    """Trials, of which the last has taken longer than it told if it cannot tell how far it is."""
    if not trials or trials[-1].share != 0:
        return list(trials)
    return [*trials[:-1], replace(trials[-1], first_s=trials[-1].first_s + more_s)]


# In the process


class _CutError(BaseException):
    """Ends a trial in the middle of a point."""


def run_trials(path: str, ends: str) -> None:
    """Try the structures that are pickled in a file, in this process; print what is known of each, whenever there is more."""
    groups: list[Points] = pickle.loads(Path(path).read_bytes())
    context = groups[0].context
    small = FRONT_ENDS[context.front_end].small
    _run(plan_sweep({**small, "mode": context.mode}).points, lambda _: None)
    for number, group in enumerate(groups):
        left_s = float(ends) - time.time()
        _Structure(number, group, left_s / (len(groups) - number), sys.stdout).run()


class _Structure:
    """The trial of one structure."""

    def __init__(self, number: int, points: Points, budget_s: float, out: IO[str]) -> None:
        self._number, self._points = number, points
        self._out = out  # what a bench prints goes elsewhere while it runs, as does what `print` writes
        self._begun = time.perf_counter()
        self._ends = self._begun + budget_s
        self._simulating: float | None = None
        self._trial = Trial(0.0, 0.0, 0, share=0.0)

    def run(self) -> None:
        """Try the first point, then some more as far as there is time."""
        self._tell()
        points = self._points
        try:
            first_s, error = _run(points[:1], self._hear)
        except _CutError:
            return
        again_s = first_s if self._simulating is None else time.perf_counter() - self._simulating
        bounded = points.context.mode == Mode.ANALYTIC
        few = points if bounded else points[:FEW]  # many bounds are found together
        self._tell(first_s=first_s, more_s=0.0 if bounded else again_s, share=0.0 if bounded else None, error=error)
        if self._has(first_s):  # what structures have in common is there now
            first_s = min(first_s, _run(points[:1], lambda _: None)[0])
            self._tell(first_s=first_s, more_s=min(self._trial.more_s, first_s))
        if self._has(len(few) * again_s) or bounded:
            more_s = _run(few, lambda _: None)[0] / len(few)
            # most of it was for what all share, which is there now
            if more_s < QUICK_S and self._has(more_s * len(points)):
                more_s = _run(points, lambda _: None)[0] / len(points)
            self._tell(more_s=min(more_s, first_s), share=None)

    def _has(self, seconds: float) -> bool:
        return time.perf_counter() + seconds < self._ends

    def _hear(self, found: PointProgress) -> None:
        now = time.perf_counter()
        if found.stage == "simulating" and self._simulating is None:
            self._simulating = now
        if self._simulating is not None and found.share > 0:
            self._tell(first_s=now - self._begun, more_s=now - self._simulating, share=found.share)
            if now > self._ends and found.share >= ENOUGH:
                raise _CutError

    def _tell(self, **known: Any) -> None:
        shared = read_proc_bytes("self/status", "RssFile") or 0
        self._trial = replace(self._trial, **known, peak_bytes=_peak_bytes(), shared_bytes=shared)
        print(json.dumps({"structure": self._number, **asdict(self._trial)}), file=self._out, flush=True)


def _run(points: Points, hear: Callable[[PointProgress], object]) -> tuple[float, str | None]:
    """Seconds for some points, and the error of one that fails."""
    errors: list[str] = []

    def on_point(_point: Point, row: Row) -> None:
        if row["error"]:
            errors.append(row["error"])

    with tempfile.TemporaryDirectory() as directory:
        started = time.perf_counter()
        execute(points, Store(Path(directory)), ExecutorConfig(1, on_progress=hear), on_point)
        return time.perf_counter() - started, next(iter(errors), None)


def _peak_bytes() -> int:
    """The peak of the resident memory of this process."""
    if (peak := read_proc_bytes("self/status", "VmHWM")) is not None:
        return peak
    unit = 1 if sys.platform == "darwin" else 1024
    return (
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    )  # on Linux also that of the process that started it
