"""Optimiser for `method: optimise`: Optuna's tree-structured Parzen estimator.

The search keeps nothing of its own. What it asks for follows from its seed and from the rows of the points before, and
those are kept; so a search that was stopped asks for the same points again, finds their rows and goes on. It asks for
`batch` points at once whatever the number of workers, so that it is the same search with any.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kernbench.errors import InputError
from kernbench.sweep.design.design import Design, collect
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Axis
from kernbench.sweep.row import FEASIBLE, OK

if TYPE_CHECKING:
    import optuna

MOST_REFUSED = 256  # asked for in a row without one that is new and allowed: the space is searched
STARTING_SHARE = 4  # one in this many samples is drawn at random, before the estimator has rows to learn from
FEWEST_STARTING = 8

Resolved = dict[str, Value]


def first_batch(space: ParameterSpace) -> Design:
    """The points that a search asks for first. Errors: InputError if Optuna is not installed, or if there is no such point."""
    if find_spec("optuna") is None:
        raise InputError(
            f"{space.grid.marks['method']}: method optimise needs Optuna, which is not installed; "
            "pip install 'kernbench[optimise]'"
        )
    found = Optimiser(space).ask(min(space.grid.batch, space.grid.samples))
    if not found and space.grid.rules:
        raise InputError(
            f"{space.grid.rules[0].mark}: none of {MOST_REFUSED} points that the search asked for meets the conditions; let "
            "them keep more, or narrow the values"
        )
    return collect(space, found)


class Optimiser:
    """Asks for points and learns from their rows."""

    def __init__(self, space: ParameterSpace) -> None:
        import optuna

        grid = space.grid
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._space = space
        self._asked: dict[tuple[tuple[str, Value], ...], optuna.Trial] = {}
        self._told: dict[tuple[tuple[str, Value], ...], tuple[float, ...] | None] = {}
        self._infeasible: set[int] = set()
        with _quiet():
            sampler = optuna.samplers.TPESampler(
                seed=grid.seed,
                n_startup_trials=max(FEWEST_STARTING, grid.samples // STARTING_SHARE),
                constant_liar=True,
                constraints_func=lambda trial: (float(trial.number in self._infeasible),),
            )
            senses = optuna.study.StudyDirection.MINIMIZE, optuna.study.StudyDirection.MAXIMIZE
            directions = [senses[not objective.least] for objective in grid.objectives]
            self._study = optuna.create_study(directions=directions, sampler=sampler)

    def ask(self, count: int) -> list[Resolved]:
        """At most `count` new points; fewer, or none, once hardly any are left."""
        batch: list[Resolved] = []
        refused = 0
        with _quiet():
            while len(batch) < count and refused < MOST_REFUSED:
                trial = self._study.ask()
                resolved = self._space.resolve(dict(self._suggest(trial)))
                point = tuple(resolved.items())
                if point in self._asked or not self._space.is_allowed(resolved):
                    self._tell(trial, self._told.get(point))
                    refused += 1
                    continue
                self._asked[point] = trial
                batch.append(resolved)
                refused = 0
        return batch

    def tell(self, batch: Sequence[Resolved], rows: Sequence[Mapping[str, Any]]) -> None:
        """Learn from the points last asked for: a row of the table for each, in their order."""
        columns = [objective.column for objective in self._space.grid.objectives]
        with _quiet():
            for resolved, row in zip(batch, rows, strict=True):
                point = tuple(resolved.items())
                values = tuple(row[column] for column in columns)
                known = row["status"] == OK and None not in values
                trial = self._asked[point]
                if known and row.get(FEASIBLE) is False:  # null is what bounds leave open
                    self._infeasible.add(trial.number)
                self._told[point] = tuple(map(float, values)) if known else None
                self._tell(trial, self._told[point])

    def _tell(self, trial: optuna.Trial, values: tuple[float, ...] | None) -> None:
        import optuna

        if values is None:
            self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, values)

    def _suggest(self, trial: optuna.Trial) -> Iterator[tuple[str, Value]]:
        for group in self._space.grid.groups:
            first = group[0]
            if first.span is not None:
                yield first.name, _from_span(trial, first)
                continue
            place = (
                trial.suggest_int(first.name, 0, len(first.values) - 1) if _is_ordered(first) else _choice(trial, first)
            )
            for axis in group:
                yield axis.name, axis.values[place]


def _from_span(trial: optuna.Trial, axis: Axis) -> Value:
    span = axis.span
    assert span is not None
    if span.whole:
        return trial.suggest_int(axis.name, int(span.low), int(span.high), log=span.logarithmic)
    return span.cut(trial.suggest_float(axis.name, span.low, span.high, log=span.logarithmic))


def _choice(trial: optuna.Trial, axis: Axis) -> int:
    return trial.suggest_categorical(axis.name, list(range(len(axis.values))))


def _is_ordered(axis: Axis) -> bool:
    """Whether neighbours among its values are alike."""
    numbers = [value for value in axis.values if isinstance(value, int | float) and not isinstance(value, bool)]
    return len(numbers) == len(axis.values) and numbers in (sorted(numbers), sorted(numbers, reverse=True))


@contextmanager
def _quiet() -> Generator[None]:
    """Without Optuna's remarks that some of its options may change."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
