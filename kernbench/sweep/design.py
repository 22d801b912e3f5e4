"""The points of a sweep as choices: for each axis its values, for each point which of them.

However points are found (all of a grid, drawn, asked for by a search), they are kept in this one form: four bytes a point
and axis, so that a hundred thousand points weigh nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.sweep.axis import Value
from kernbench.sweep.space import Space

if TYPE_CHECKING:
    import numpy as np

UNSET = -1  # the axis is not set in this point: its parameter has its default


@dataclass(frozen=True, slots=True)
class Design:
    """The points of a grid.

    values: by axis, in the grid's order. choices: int32[point, axis], which value, or UNSET. baseline: int32[point], the
    point that each is compared with; None without a baseline.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    choices: np.ndarray
    baseline: np.ndarray | None = None


class DesignBuilder:
    """Collects points, each once, in the order in which they come."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self.names = tuple(axis.name for axis in space.grid.axes)
        self._seen: dict[tuple[int, ...], int] = {}
        self._choices = array("i")
        # 1, 1.0 and True are equal, and are different values
        named = [dict.fromkeys((type(value), value) for value in axis.values) for axis in space.grid.axes]
        self._places = [{value: i for i, value in enumerate(values)} for values in named]

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, settled: Mapping[str, Value]) -> int:
        """Add a point unless it is there; returns its index."""
        choice = tuple(self._place(i, settled) for i in range(len(self.names)))
        index = self._seen.setdefault(choice, len(self._seen))
        if index * len(self.names) == len(self._choices):
            self._choices.extend(choice)
        return index

    def build(self) -> Design:
        """The design; where the grid has a baseline, the points that are compared with follow the others."""
        import numpy as np

        baseline = None
        if self.space.grid.baseline:
            baseline = self._add_baseline()
        values = tuple(tuple(value for _, value in places) for places in self._places)
        shape = (len(self), len(self.names))
        choices = np.array(self._choices, dtype=np.int32).reshape(shape)
        return Design(self.names, values, choices, None if baseline is None else np.array(baseline, dtype=np.int32))

    def _add_baseline(self) -> list[int]:
        """The index of the point that each is compared with; those added are compared with themselves."""
        chosen = {axis.name: axis.values[0] for axis in self.space.grid.baseline}
        values = [[value for _, value in places] for places in self._places]
        found: list[int] = []
        for i in range(len(self)):
            settled = self._settled(i, values)
            found.append(self.add(self.space.settle({**settled, **chosen})))
        return [*found, *range(len(found), len(self))]

    def _settled(self, index: int, values: list[list[Value]]) -> dict[str, Value]:
        first = index * len(self.names)
        places = enumerate(self._choices[first : first + len(self.names)])
        return {self.names[i]: values[i][place] for i, place in places if place != UNSET}

    def _place(self, axis: int, settled: Mapping[str, Value]) -> int:
        name = self.names[axis]
        if name not in settled:
            return UNSET
        value, places = settled[name], self._places[axis]
        return places.setdefault((type(value), value), len(places))


def collect(space: Space, points: Iterable[Mapping[str, Value]]) -> Design:
    """The design of points, each once."""
    builder = DesignBuilder(space)
    for settled in points:
        builder.add(settled)
    return builder.build()
