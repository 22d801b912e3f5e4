"""Batches of points of one structure, the unit of work of a worker.

All axes but figures of the topology make a structure. Batches follow each other structure by structure, so that a worker
keeps one structure at a time; the batches of a structure are small enough that all workers get some.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.machine.families.registry import may_vary
from kernbench.sweep.design.points import Points
from kernbench.sweep.point import TOPOLOGY, Point


@dataclass(frozen=True, slots=True)
class Batch:
    """Points of one structure. `alike`: they share it with each other, or with points of other batches."""

    points: tuple[Point, ...]
    alike: bool

    def __len__(self) -> int:
        return len(self.points)


class Groups(Sequence[Points]):
    """The points of each structure, in the order of their first points; each group is made when it is asked for."""

    def __init__(self, points: Points) -> None:
        self._points = points
        self._order, self._start = _group(points)

    def __len__(self) -> int:
        return len(self._start) - 1

    @overload
    def __getitem__(self, which: int) -> Points: ...
    @overload
    def __getitem__(self, which: slice) -> list[Points]: ...
    def __getitem__(self, which: int | slice) -> Points | list[Points]:
        if isinstance(which, slice):
            return [self[at] for at in range(len(self))[which]]
        at = range(len(self))[which]
        return self._points.take(self._order[self._start[at] : self._start[at + 1]])


def group_places(points: Points) -> list[np.ndarray]:
    """int64[] which points are of each structure, in the order of their first points."""
    order, start = _group(points)
    return np.split(order, start[1:-1]) if len(points) else []


def _group(points: Points) -> tuple[np.ndarray, np.ndarray]:
    """int64[point] the points structure by structure, int64[structure + 1] where each begins."""
    design = points.design
    fixed = [i for i, name in enumerate(design.names) if not may_vary(name.removeprefix(TOPOLOGY))]
    structures = unique_rows(points.choices[:, fixed]).by_appearance()
    order = np.argsort(structures.which, kind="stable")
    return order, np.concatenate([[0], np.cumsum(structures.count)])


def make_batches(groups: Iterable[Points], most: int) -> Iterator[Batch]:
    """Batches of at most `most` points."""
    for group in groups:
        for first in range(0, len(group), most):
            yield Batch(tuple(group[first : first + most]), len(group) > 1)
