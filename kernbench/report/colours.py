"""The colours of figures: one for one thing, on all figures and views of a page.

An axis of a sweep has colours of its own: a ramp for numbers, a few of `CATEGORIES` for names. The front is black in every
figure, and in the ink of the page in its views. The ramp of `GOODNESS`, bright for good, is for objectives alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kernbench.sweep.results.swept_axes import Swept

# Okabe and Ito's colours, safe for colour-blind readers, orange before the paler ones; then darker ones.
CATEGORIES = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#8A6D3B", "#6B4FA0", "#4C8A2B", "#A83262", "#5B6B7B", "#0B7A6B"),
)
INK, FAINT, EMPTY = "#333333", "#DDDDDD", "#EEEEEE"
FRONT = "#000000"  # the Pareto front, or the best point
GOODNESS = "viridis"

# Ramps for the values of numeric axes, by stops from dark to bright; the brightest is dark enough on white.
RAMPS = (
    ("#0D0887", "#5302A3", "#8B0AA5", "#BA3388", "#DB5C68", "#F48948", "#FEBE2A"),
    ("#081D58", "#203089", "#234FA1", "#2076B3", "#289CC1", "#4AB9C3", "#7CCCBB"),
    ("#662506", "#903104", "#B94303", "#DB5D0B", "#F17C1A", "#FE9F2E", "#FEC24D"),
    ("#49006A", "#710175", "#9B017B", "#C4198A", "#E5439A", "#F770A4", "#FA9DB4"),
    ("#00441B", "#006529", "#16803C", "#319A50", "#50B264", "#7AC77B", "#9FD899"),
)

# The classes of parts in diagrams: fill and edge.
CONTROL = ("#E6DDF3", "#6B4FA0")
MOVEMENT = ("#D6E6F5", "#2F6DA8")
COMPUTE = ("#FCE3C5", "#B85F00")
MEMORY = ("#DCEFCF", "#4C8A2B")
PORT = ("#0B7A6B", "#075A4F")
HOST = ("#F6DCE5", "#A83262")


def of_axis(axes: Sequence[Swept], axis: Swept) -> list[str]:
    """A colour for each value of an axis, in order; other axes of the table have others."""
    return ramp(len(axis.values), _place(axes, axis)) if axis.numeric else [*_categories(axes, axis).values()]


def tell_axes(axes: Sequence[Swept]) -> dict[str, list[str] | dict[str, str]]:
    """The colours of each axis for the views of a page, by column: the stops of its ramp, or the colour of each name."""
    return {
        axis.column: list(RAMPS[_place(axes, axis) % len(RAMPS)]) if axis.numeric else _categories(axes, axis)
        for axis in axes
    }


def _place(axes: Sequence[Swept], axis: Swept) -> int:
    """Which of the axes of its kind it is."""
    alike = [one.column for one in axes if one.numeric == axis.numeric]
    return alike.index(axis.column)


def _categories(axes: Sequence[Swept], axis: Swept) -> dict[str, str]:
    """A colour for each value of an axis of names."""
    before = [one for one in axes if not one.numeric][: _place(axes, axis)]
    first = sum(len(one.values) for one in before if len(one.values) <= len(CATEGORIES))
    return {_name(value): CATEGORIES[(first + i) % len(CATEGORIES)] for i, value in enumerate(axis.values)}


def _name(value: object) -> str:
    """A value as the tables of pages have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def ramp(count: int, number: int = 0) -> list[str]:
    """Colours from dark to bright; ramps of different numbers are different."""
    stops = RAMPS[number % len(RAMPS)]
    return [_mix(stops, i / max(count - 1, 1)) for i in range(count)]


def _mix(stops: Sequence[str], place: float) -> str:
    """The colour at a place from 0 to 1 along some stops."""
    below = min(int(place * (len(stops) - 1)), len(stops) - 2)
    share = place * (len(stops) - 1) - below
    ends = [[int(stop[at : at + 2], 16) for at in (1, 3, 5)] for stop in stops[below : below + 2]]
    return "#" + "".join(f"{round(one + (other - one) * share):02X}" for one, other in zip(*ends, strict=True))


def of_names(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, by the order of first appearance."""
    return {name: CATEGORIES[i % len(CATEGORIES)] for i, name in enumerate(dict.fromkeys(names))}
