"""Panels: the tokens of an activation in groups, so that the features of a group's tokens are one range of addresses.

A tensor of `features` rows holds a panel of `width` tokens from element features x `first` on: a row for each feature, a column
for each of its tokens. Panels follow each other; with one panel of all tokens the tensor is a plain matrix (features, tokens).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kernbench.host.memory.placement import part_of


class Panel(NamedTuple):
    """Tokens `first` to `first + width`."""

    first: int
    width: int

    def at(self, features: int, row: int = 0) -> int:
        """The element at which a row begins, in a tensor of a number of features."""
        return features * self.first + row * self.width


class Share(NamedTuple):
    """Rows `first` to `end` of a panel, a PE's own."""

    panel: Panel
    first: int
    end: int


def cut(first: int, tokens: int, count: int) -> tuple[Panel, ...]:
    """Tokens from `first` on in `count` panels, of widths that differ by no more than one."""
    bounds = [first + tokens * i // count for i in range(count + 1)]
    return tuple(Panel(a, b - a) for a, b in pairwise(bounds) if b > a)


def share_out(panels: Sequence[tuple[int, int]], rows: tuple[int, int], index: int, parts: int) -> Iterator[Share]:
    """Part `index` of `parts` of some rows of all panels, in whole rows, if the parts have as many elements each.

    The parts take the panels one after the other, and where several share one, its rows one after the other.
    """
    one_row = sum(width for _, width in panels)
    begin, end = (index * one_row * (rows[1] - rows[0]) // parts, (index + 1) * one_row * (rows[1] - rows[0]) // parts)
    before = 0
    for panel in map(Panel._make, panels):
        bounds = [
            min(max(0, place - before), panel.width * (rows[1] - rows[0])) // panel.width for place in (begin, end)
        ]
        before += panel.width * (rows[1] - rows[0])
        if bounds[0] < bounds[1]:
            yield Share(panel, rows[0] + bounds[0], rows[0] + bounds[1])


def cut_rows(rows: tuple[int, int], most: int) -> list[tuple[int, int]]:
    """Rows in blocks of `most` or fewer, of equal sizes but for the last."""
    count = max(1, -(-(rows[1] - rows[0]) // max(1, most)))
    return [part for part in (part_of(rows, i, count) for i in range(count)) if part[0] < part[1]]
