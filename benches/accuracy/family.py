"""A family of cases that are compared with what somebody else found, and a declared approximation with its size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

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

    def holds(self, point: Point) -> bool:
        """Whether a case is of this rule."""
        return any(text in point.case for text in self.texts) and self.sign * point.error >= 0


@dataclass(frozen=True, slots=True)
class Family:
    """Cases of one kind. `run` makes the points; `against` says whose figures they are, `command` repeats the line."""

    name: str
    title: str
    compared: str
    against: str
    command: str
    unknown: str
    run: Callable[[], list[Point]]
    rules: Sequence[Rule] = ()
    quick: bool = False  # in seconds: tests run it

    def reason(self, point: Point) -> str:
        """Why a case is an outlier, or nothing if no rule says it."""
        return next((rule.why for rule in self.rules if rule.holds(point)), "")


@dataclass(frozen=True, slots=True)
class Approximation:
    """A declared approximation. `ours` of a point is what it gives, `theirs` what a finer model gives for the same."""

    name: str
    title: str
    instead: str  # the finer model
    command: str
    run: Callable[[], list[Point]]
