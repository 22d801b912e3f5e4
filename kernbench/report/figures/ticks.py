"""The ticks of axes: at the values that were swept, of many at every second or third, or else at round values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, log2, log10
from typing import TYPE_CHECKING

from kernbench.report.tables.engineering import DIGITS, LADDERS, Quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_TICKS = 8
MOST_DIGITS = 15  # that a float has
ALIKE = 1.01  # how much the steps may differ of values that ask for a logarithmic axis
ROUNDED = 1.25  # and of a ladder whose every second or third value has a tick: 4, 6, 8, 11, 16 are rounded
DECADE, DOUBLED_TWICE = 10.0, 4.0  # the largest value as a multiple of the least
FEWEST = 3  # powers of ten; with fewer, round values stand between them
EDGE = 1e-9  # of an axis, by which a sum of steps may miss its end
ROUND_STEPS = (1, 2, 2.5, 5, 10)


def scale(axes: Axes, which: str, shown: Quantity, values: Sequence[float], *, swept: bool) -> None:
    """Make the x or y axis logarithmic if its values need it, and set its ticks and their texts.

    `values` are in the unit of the column, as is what is drawn; `swept`: whether they were asked for, so ticks stand at them.
    """
    if is_logarithmic(values):
        (axes.set_xscale if which == "x" else axes.set_yscale)("log", base=2 if shown.binary else 10)
    set_ticks(axes, which, shown, find_ticks(shown, values, swept=swept))


def set_ticks(axes: Axes, which: str, shown: Quantity, ticks: Sequence[float]) -> None:
    """Set the ticks of the x or y axis and their texts."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    texts = dict(zip(ticks, tick_texts(shown, ticks), strict=True))
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: texts.get(value) or shown.show(value)))


def find_ticks(shown: Quantity, values: Sequence[float], *, swept: bool) -> list[float]:
    """The values at which ticks stand, in rising order, about eight at most."""
    ladder = sorted({float(value) for value in values})
    if len(ladder) == 1 or (swept and len(ladder) <= MOST_TICKS):
        return ladder
    logarithmic = is_logarithmic(ladder)
    if swept and _is_regular(ladder, logarithmic=logarithmic, alike=ROUNDED):
        return ladder[:: ceil(len(ladder) / MOST_TICKS)]
    if logarithmic:
        powers = _log_ticks(ladder[0], ladder[-1], binary=shown.binary)
        return powers if len(powers) >= FEWEST else _round_ticks(shown, ladder[0], ladder[-1])
    return _round_ticks(shown, ladder[0], ladder[-1])


def tick_texts(shown: Quantity, ticks: Sequence[float]) -> list[str]:
    """The texts of ticks, with as many digits as tell neighbours apart and show the steps between them."""
    step = min((after - before for before, after in pairwise(sorted(ticks))), default=0.0)
    for digits in range(DIGITS, MOST_DIGITS):
        if all(abs(float(f"{tick:.{digits}g}") - tick) <= step / 100 for tick in ticks):
            return [shown.show(tick, digits) for tick in ticks]
    return [shown.show(tick) for tick in ticks]


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis suits the values: they span a decade, or each is the same multiple of the last."""
    low, high = min(values), max(values)
    if low <= 0:
        return False
    ladder = sorted(set(values))
    doubled = len(ladder) > 2 and high / low >= DOUBLED_TWICE
    return high / low >= DECADE or (doubled and _is_regular(ladder, logarithmic=True, alike=ALIKE))


def _is_regular(ladder: Sequence[float], *, logarithmic: bool, alike: float) -> bool:
    """Whether each value is the same multiple of the last, or the same amount above it."""
    steps = [after / before if logarithmic else after - before for before, after in pairwise(ladder)]
    return max(steps) / min(steps) < alike


def _log_ticks(low: float, high: float, *, binary: bool) -> list[float]:
    """Powers of ten or of two, with 2 and 5 between them if there is room."""
    if binary:
        powers = [2.0**power for power in range(ceil(log2(low)), floor(log2(high)) + 1)]
    else:
        decades = range(floor(log10(low)), floor(log10(high)) + 1)
        steps = (1, 2, 5) if high / low < 1e3 else (1,)
        powers = [float(f"{step}e{decade}") for decade in decades for step in steps]
    inside = [power for power in powers if low <= power <= high]
    return inside[:: ceil(len(inside) / MOST_TICKS) or 1]


def _round_ticks(shown: Quantity, low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    size = shown.size
    if shown.common is None and shown.binary:
        size = max((unit for _, unit in LADDERS[shown.base] if unit <= max(abs(low), abs(high))), default=1.0)
    found = MaxNLocator(MOST_TICKS - 1, steps=list(ROUND_STEPS)).tick_values(low / size, high / size)
    inside = [float(tick) * size for tick in found]
    edge = (high - low) * EDGE
    return [tick for tick in inside if low - edge <= tick <= high + edge]
