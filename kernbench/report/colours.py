"""The colours of figures: one for one thing, on all figures of a page.

An axis of a sweep has colours of its own: a ramp for numbers, a few of `CATEGORIES` for names. The front is black in every
figure, and the ramp of `GOODNESS`, bright for good, is for objectives alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernbench.report.swept_axes import Swept

# Okabe and Ito's colours, safe for colour-blind readers, orange before the paler ones; then darker ones.
CATEGORIES = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#8A6D3B", "#6B4FA0", "#4C8A2B", "#A83262", "#5B6B7B", "#0B7A6B"),
)
INK, FAINT, EMPTY = "#333333", "#DDDDDD", "#EEEEEE"
FRONT = "#000000"  # the Pareto front, or the best point
GOODNESS = "viridis"

# Ramps for the values of numeric axes, and their ends: dark enough on white.
RAMPS = (
    ("plasma", 0.0, 0.86),
    ("YlGnBu", 1.0, 0.38),
    ("YlOrBr", 1.0, 0.38),
    ("RdPu", 1.0, 0.38),
    ("Greens", 1.0, 0.38),
)

# The classes of parts in diagrams: fill and edge.
CONTROL = ("#E6DDF3", "#6B4FA0")
MOVEMENT = ("#D6E6F5", "#2F6DA8")
COMPUTE = ("#FCE3C5", "#B85F00")
MEMORY = ("#DCEFCF", "#4C8A2B")
PORT = ("#0B7A6B", "#075A4F")
HOST = ("#F6DCE5", "#A83262")


def of_axis(axes: Sequence[Swept], axis: Swept) -> list[Any]:
    """A colour for each value of an axis, in order; other axes of the table have others."""
    alike = [one for one in axes if one.numeric == axis.numeric]
    before = next(i for i, one in enumerate(alike) if one.column == axis.column)
    if axis.numeric:
        return ramp(len(axis.values), before)
    first = sum(len(one.values) for one in alike[:before] if len(one.values) <= len(CATEGORIES))
    return [CATEGORIES[(first + i) % len(CATEGORIES)] for i in range(len(axis.values))]


def ramp(count: int, number: int = 0) -> list[Any]:
    """Colours from dark to bright; ramps of different numbers are different."""
    import matplotlib

    name, first, last = RAMPS[number % len(RAMPS)]
    shades = matplotlib.colormaps[name]
    return [shades(first + (last - first) * i / max(count - 1, 1)) for i in range(count)]


def of_names(names: Iterable[str]) -> dict[str, str]:
    """A colour for each name, by the order of first appearance."""
    return {name: CATEGORIES[i % len(CATEGORIES)] for i, name in enumerate(dict.fromkeys(names))}
