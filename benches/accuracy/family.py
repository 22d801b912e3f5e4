"""A family of cases that are compared with what somebody else found, and a declared approximation with its size."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import kernbench

Overrides = Mapping[str, object]  # fields of a topology

OUTLIER = 0.15  # an error that the page gives a reason for


class Point(NamedTuple):
    """One case: what is simulated, and what it is compared with, in one unit."""

    case: str
    ours: float
    theirs: float

    @property
    def error(self) -> float:
        """Ours over theirs, less 1."""
        return self.ours / self.theirs - 1


class Rule(NamedTuple):
    """Why cases are outliers: those with one of some texts in their case and an error of a sign."""

    texts: Sequence[str]
    sign: int  # 1: too slow, -1: too fast, 0: either
    why: str
    guess: bool = True  # whether nothing shows it
    changed: Mapping[str, object] = {}  # fields of the topology that show it: with these the errors are others

    def holds(self, point: Point) -> bool:
        """Whether a case is of this rule."""
        return any(text in point.case for text in self.texts) and self.sign * point.error >= 0


@dataclass(frozen=True, slots=True)
class Family:
    """Cases of one kind. `run` makes the points, with fields of the topology that are changed; `command` repeats the line.

    `against` says whose figures they are.
    """

    name: str
    title: str
    compared: str
    against: str
    command: str
    unknown: str
    run: Callable[[Overrides], list[Point]]
    rules: Sequence[Rule] = ()
    quick: bool = False  # in seconds: tests run it
    data: str = ""  # the environment variable that names the directory of data that are not shipped

    def has_data(self) -> bool:
        """Whether the data of the family are at hand."""
        return not self.data or bool(os.environ.get(self.data))

    def find_rule(self, point: Point) -> Rule | None:
        """The rule behind an outlier."""
        return next((rule for rule in self.rules if rule.holds(point)), None)


@dataclass(frozen=True, slots=True)
class Approximation:
    """A declared approximation. `ours` of a point is what it gives, `theirs` what a finer model gives for the same."""

    name: str
    title: str
    instead: str  # the finer model
    command: str
    run: Callable[[], list[Point]]


def evaluating(
    name: str, columns: tuple[str, str], words: Sequence[str], topology: str | None = None, **settings: Any
) -> Callable[[Overrides], list[Point]]:
    """What runs an evaluation: ours and theirs in two columns, the case of others."""

    def run(changed: Overrides) -> list[Point]:
        rows = kernbench.evaluate(name, topology, settings=settings, overrides=changed).table.to_dicts()
        return [Point(" ".join(str(row[word]) for word in words), row[columns[0]], row[columns[1]]) for row in rows]

    return run
