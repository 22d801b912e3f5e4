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
        """The element at which a row begins, in a tensor of `features`."""
        return features * self.first + row * self.width


class Share(NamedTuple):
    """Rows `first` to `end` of a panel, a PE's own."""

    panel: Panel
    first: int
    end: int


class Copies(NamedTuple):
    """Where the panels of what products read lie: in the cubes that need them.

    The cubes are in groups, `bounds` are the tokens at which the groups' parts begin and end. Each cube of a group has a
    copy of the group's part, so that the tensor has room for `stride` tokens of each cube, one after the other. One group
    has one copy, over all PEs.
    """

    bounds: tuple[int, ...]
    cubes: int

    @property
    def groups(self) -> int:
        """Groups of cubes."""
        return len(self.bounds) - 1

    @property
    def stride(self) -> int:
        """Tokens of the largest part."""
        return max(end - first for first, end in pairwise(self.bounds))

    @property
    def columns(self) -> int:
        """Tokens for which the tensor has room."""
        return self.stride * (self.cubes if self.groups > 1 else 1)

    def find(self, panel: Panel, cube: int) -> Panel:
        """The copy of a panel in a cube of its group."""
        if self.groups == 1:
            return panel
        first = self.bounds[cube // (self.cubes // self.groups)]
        return Panel(cube * self.stride + panel.first - first, panel.width)

    def list_all(self, panel: Panel) -> list[Panel]:
        """All copies of a panel."""
        if self.groups == 1:
            return [panel]
        group = max(number for number in range(self.groups) if self.bounds[number] <= panel.first)
        size = self.cubes // self.groups
        return [self.find(panel, cube) for cube in range(group * size, (group + 1) * size)]


def cut(first: int, tokens: int, count: int) -> tuple[Panel, ...]:
    """Tokens from `first` on in `count` panels, of widths that differ by no more than one."""
    bounds = [first + tokens * i // count for i in range(count + 1)]
    return tuple(Panel(a, b - a) for a, b in pairwise(bounds) if b > a)


def share_out(panels: Sequence[Panel], rows: int, index: int, parts: int) -> Iterator[Share]:
    """Part `index` of `parts` of some rows of all panels, in whole rows, if the parts have as many elements each.

    The parts take the panels one after the other, and where several share one, its rows one after the other.
    """
    one_row = sum(panel.width for panel in panels)
    begin, end = (place * one_row * rows // parts for place in (index, index + 1))
    before = 0
    for panel in panels:
        first, last = (min(max(0, place - before), panel.width * rows) // panel.width for place in (begin, end))
        before += panel.width * rows
        if first < last:
            yield Share(panel, first, last)


def cut_rows(rows: tuple[int, int], most: int) -> list[tuple[int, int]]:
    """Rows in blocks of at most `most`, of equal sizes but for the last."""
    count = max(1, -(-(rows[1] - rows[0]) // max(1, most)))
    return [part for part in (part_of(rows, i, count) for i in range(count)) if part[0] < part[1]]
