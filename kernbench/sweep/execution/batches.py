"""Batches of points of one structure, the unit of work of a worker.

All axes but figures of the topology make a structure. Batches follow each other structure by structure, so that a worker
keeps one structure at a time; the batches of a structure are small enough that all workers get some.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.machine.families import may_vary
from kernbench.sweep.design.points import Points
from kernbench.sweep.point import TOPOLOGY, Point


@dataclass(frozen=True, slots=True)
class Batch:
    """Points of one structure. `alike`: they share it with each other, or with points of other batches."""

    points: tuple[Point, ...]
    alike: bool

    def __len__(self) -> int:
        return len(self.points)


def group_points(points: Points) -> list[Points]:
    """The points of each structure, in the order of their first points."""
    return [points.take(places) for places in group_places(points)]


def group_places(points: Points) -> list[np.ndarray]:
    """int64[] which points are of each structure, in the order of their first points."""
    design = points.design
    fixed = [i for i, name in enumerate(design.names) if not may_vary(name.removeprefix(TOPOLOGY))]
    structures = unique_rows(points.choices[:, fixed]).by_appearance()
    order = np.argsort(structures.which, kind="stable")
    return np.split(order, np.cumsum(structures.count)[:-1]) if len(points) else []


def make_batches(groups: list[Points], most: int) -> Iterator[Batch]:
    """Batches of at most `most` points."""
    for group in groups:
        for first in range(0, len(group), most):
            yield Batch(tuple(group[first : first + most]), len(group) > 1)
