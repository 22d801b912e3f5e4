"""The values of one axis of a grid.

Values are worked out exactly (steps of 0.1 stay tenths) and powers are cut to twelve digits, because the key under
which a finished point is found again is made of them: it must be the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

Value = bool | int | float | str
Number = int | float

MOST_VALUES = 1_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """All numbers between two ends, both included, to draw from: integers between integers, else of twelve digits.

    Errors: ValueError for ends that hold nothing between them.
    """

    low: Number
    high: Number
    logarithmic: bool = False

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"a span goes from a smaller number to a larger, not from {self.low} to {self.high}")
        if self.logarithmic and self.low <= 0:
            raise ValueError(f"a span of scale log begins above 0, not at {self.low}")

    @property
    def whole(self) -> bool:
        """Whether it holds integers only."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def at(self, shares: Iterable[float]) -> list[Number]:
        """The numbers with these shares (0 … 1) of the span below them; integers have equal shares, of their ratio if log."""
        low, high = (self.low - 0.5, self.high + 0.5) if self.whole else (self.low, self.high)
        if self.logarithmic:
            ratio = high / low
            places = [low * ratio**share for share in shares]
        else:
            size = high - low
            places = [low + size * share for share in shares]
        if self.whole:
            first, last = int(self.low), int(self.high)
            return [min(max(math.floor(place + 0.5), first), last) for place in places]
        least, most = float(self.low), float(self.high)
        return [min(max(_cut(place), least), most) for place in places]

    def cut(self, place: float) -> float:
        """A number of twelve digits within the span."""
        return float(min(max(_cut(place), self.low), self.high))


def stepped(first: Number, last: Number, step: Number) -> tuple[Number, ...]:
    """From `first` to `last`, `last` included where a step lands on it. Errors: ValueError."""
    start, end, stride = _exact(first), _exact(last), _exact(step)
    if stride == 0 or (end - start) / stride < 0:
        raise ValueError(f"steps of {step} never lead from {first} to {last}")
    count = _counted((end - start) // stride + 1)
    return tuple(_plain(start + i * stride, first, step) for i in range(count))


def multiplied(first: Number, last: Number, factor: Number) -> tuple[Number, ...]:
    """From `first` to `last`, each `factor` times the one before, `last` included if it is met. Errors: ValueError."""
    start, end, ratio = _exact(first), _exact(last), _exact(factor)
    leads = ratio > 0 and ratio != 1 and start > 0 and end > 0 and (end == start or (end > start) == (ratio > 1))
    if not leads:
        raise ValueError(f"times {factor} never leads from {first} to {last}")
    values: list[Number] = []
    while start <= end if ratio > 1 else start >= end:
        whole = start.denominator == 1 and isinstance(first, int)
        values.append(int(start) if whole else _cut(float(start)))
        start *= ratio
        _counted(len(values))
    return tuple(values)


def linspace(first: Number, last: Number, count: int) -> tuple[Number, ...]:
    """`count` values, equally far apart, both ends included. Errors: ValueError."""
    _check_ends(count)
    start, span = _exact(first), _exact(last) - _exact(first)
    return _spaced([start + span * i / (count - 1) for i in range(count)], first, last)


def logspace(first: Number, last: Number, count: int) -> tuple[Number, ...]:
    """`count` values, each the same multiple of the one before, both ends included. Errors: ValueError."""
    _check_ends(count)
    if first <= 0 or last <= 0:
        raise ValueError(f"logspace goes from above 0 to above 0, not from {first} to {last}")
    ratio = last / first
    return _spaced([first * ratio ** (i / (count - 1)) for i in range(count)], first, last)


def _spaced(values: list[Fraction] | list[float], first: Number, last: Number) -> tuple[Number, ...]:
    """Between two integers lie integers (each once); otherwise numbers of twelve digits."""
    if isinstance(first, int) and isinstance(last, int):
        return tuple(dict.fromkeys(round(value) for value in values))
    return tuple(_cut(float(value)) for value in values)


def _cut(value: float) -> float:
    return float(f"{value:.12g}")


def _exact(number: Number) -> Fraction:
    return Fraction(repr(number))


def _plain(value: Fraction, *given: Number) -> Number:
    return int(value) if all(isinstance(number, int) for number in given) else float(value)


def _check_ends(count: int) -> None:
    if count < 2:
        raise ValueError(f"the count of values must be 2 or more, not {count}")
    _counted(count)


def _counted(count: int) -> int:
    if count > MOST_VALUES:
        raise ValueError(f"{count:,} values are more than the {MOST_VALUES:,} an axis may have")
    return count
