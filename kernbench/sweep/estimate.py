"""Estimate of the time and memory of a sweep, from trials of a few of its points."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernbench.sweep.design.points import Points
from kernbench.sweep.execution.batches import Groups
from kernbench.sweep.execution.executor import ExecutorConfig
from kernbench.sweep.plan import Plan
from kernbench.sweep.trial import Trial, try_groups

TRIED = 3  # structures
BUDGET_S = 4.0  # for their trials, or
SHARE = 0.1  # of what is predicted, if that is more, but
PATIENCE_S = 30.0  # no more than this


@dataclass(frozen=True, slots=True)
class Estimate:
    """Time and memory of a sweep. Without trials, as nothing is missing, figures are None.

    programs: structures among the points that are missing, each compiled and recorded once, whatever figures differ.
    """

    points: int
    programs: int
    workers: int
    trials: tuple[Trial, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Of wall time, on all workers; None if a trial was cut before it was known how far it was."""
        whole = [trial.whole for trial in self.trials]
        known = [trial for trial in whole if trial is not None]
        return self._add_up(known) if len(known) == len(whole) else None

    @property
    def least_seconds(self) -> float | None:
        """Of wall time, if the other points take as long as those that were tried, which take that long at least."""
        return self._add_up(self.trials)

    @property
    def peak_bytes(self) -> int | None:
        """Of all workers together; at least, if a trial was cut."""
        if not self.trials:
            return None
        largest = max(self.trials, key=lambda trial: trial.peak_bytes)
        return self.workers * (largest.peak_bytes - largest.shared_bytes) + largest.shared_bytes

    @property
    def cut(self) -> tuple[Trial, ...]:
        """The trials that did not come to their end."""
        return tuple(trial for trial in self.trials if trial.share is not None)

    @property
    def errors(self) -> tuple[str, ...]:
        """The errors of the trials that fail."""
        return tuple(trial.error for trial in self.trials if trial.error is not None)

    def _add_up(self, trials: Sequence[Trial]) -> float | None:
        if not trials:
            return None
        first_s, more_s = (
            sum(times) / len(trials) for times in zip(*((t.first_s, t.more_s) for t in trials), strict=True)
        )
        return (self.programs * first_s + (self.points - self.programs) * more_s) / self.workers


def count_programs(points: Points) -> int:
    """The number of structures of points: those that differ in figures of the topology alone share one."""
    return len(Groups(points))


def estimate(plan: Plan, workers: int | None = None, budget_s: float = BUDGET_S, *, tries: bool = True) -> Estimate:
    """Try some points of a plan, for `budget_s` or a tenth of the time that is predicted; only count them if not `tries`.

    Errors: InputError for fewer than one worker.
    """
    ends = time.time() + budget_s
    missing = plan.missing
    groups = Groups(missing)
    count = ExecutorConfig(workers).count(len(missing))
    total, programs = len(missing), len(groups)
    if missing and plan.most_points > len(plan.points):  # a search has not asked for all its points yet
        total += plan.most_points - len(plan.points)
        programs = 1 if programs == 1 else round(programs * total / len(missing))
    if not groups or not tries:
        return Estimate(total, programs, count)

    def most_s(trials: Sequence[Trial]) -> float:
        found = Estimate(total, programs, count, tuple(trials))
        return min(PATIENCE_S, SHARE * (found.seconds or found.least_seconds or 0.0))

    picked: list[int] = sorted({round(share * (len(groups) - 1)) for share in np.linspace(0, 1, TRIED)})
    return Estimate(total, programs, count, _telling(try_groups([groups[i] for i in picked], ends, most_s)))


def _telling(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Trials without those that say nothing: cut in less time than any other took, and not known how far they were."""
    known = [trial.first_s for trial in trials if trial.whole is not None]
    return tuple(
        trial for trial in trials if trial.whole is not None or trial.error or trial.first_s >= min(known, default=0.0)
    )
