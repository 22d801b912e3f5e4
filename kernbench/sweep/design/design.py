"""The points of a sweep as choices: for each axis its values, for each point which of them.

However points are found (all of a grid, drawn, asked for by a search), they are kept in this one form: a few bytes a point
and axis, so that a hundred thousand points weigh nothing.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernbench.arrays import unique_rows
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.axis import Value

if TYPE_CHECKING:
    import numpy as np

UNSET = -1  # the axis is not set in this point: its parameter has its default


@dataclass(frozen=True, slots=True)
class Design:
    """The points of a grid.

    values: by axis, in the grid's order. choices: int8, int16 or int32[point, axis], which value, or UNSET. baseline:
    int32[point], the point that each is compared with; None without a baseline. drawn: how many points were drawn to find
    these, and met: how many of them the conditions allowed, of which some may be the same.
    """

    names: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    choices: np.ndarray
    baseline: np.ndarray | None = None
    drawn: int = 0
    met: int = 0


class ValueIndex:
    """The values of each axis, numbered: those of the grid first, then others as they come."""

    def __init__(self, space: ParameterSpace) -> None:
        self.names = tuple(axis.name for axis in space.grid.axes)
        # 1, 1.0 and True are equal, and are different values
        named = [dict.fromkeys((type(value), value) for value in axis.values) for axis in space.grid.axes]
        self._places = [{value: i for i, value in enumerate(values)} for values in named]

    def place(self, axis: int, value: Value) -> int:
        """The number of a value of an axis."""
        places = self._places[axis]
        return places.setdefault((type(value), value), len(places))

    def places(self, axis: int, values: Iterable[Value]) -> np.ndarray:
        """int32[value], the numbers of many."""
        import numpy as np

        places = self._places[axis]
        return np.array([places.setdefault((type(value), value), len(places)) for value in values], np.int32)

    @property
    def values(self) -> tuple[tuple[Value, ...], ...]:
        """By axis, the values in the order of their numbers."""
        return tuple(tuple(value for _, value in places) for places in self._places)

    def design(self, choices: np.ndarray, baseline: np.ndarray | None) -> Design:
        """The design of points, in as few bytes as their numbers take."""
        import numpy as np

        most = max(map(len, self._places), default=0)
        kind = next(kind for kind in (np.int8, np.int16, np.int32) if most <= np.iinfo(kind).max)
        return Design(self.names, self.values, choices.astype(kind), baseline)


class DesignBuilder:
    """Collects points, each once, in the order in which they come."""

    def __init__(self, space: ParameterSpace) -> None:
        self.space = space
        self._value_index = ValueIndex(space)
        self._seen: dict[tuple[int, ...], int] = {}
        self._choices = array("i")

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, resolved: Mapping[str, Value]) -> int:
        """Add a point unless it is there; returns its index."""
        names = self._value_index.names
        choice = tuple(
            self._value_index.place(i, resolved[name]) if name in resolved else UNSET for i, name in enumerate(names)
        )
        index = self._seen.setdefault(choice, len(self._seen))
        if index * len(names) == len(self._choices):
            self._choices.extend(choice)
        return index

    def build(self) -> Design:
        """The design; where the grid has a baseline, the points that are compared with follow the others."""
        import numpy as np

        baseline = np.array(self._add_baseline(), np.int32) if self.space.grid.baseline else None
        choices = np.array(self._choices, dtype=np.int32).reshape(len(self), len(self._value_index.names))
        return self._value_index.design(choices, baseline)

    def _add_baseline(self) -> list[int]:
        """The index of the point that each is compared with; those added are compared with themselves."""
        chosen = {axis.name: axis.values[0] for axis in self.space.grid.baseline}
        found: list[int] = []
        for i in range(len(self)):
            resolved = self._resolved(i, self._value_index.values)
            found.append(self.add(self.space.resolve({**resolved, **chosen})))
        return [*found, *range(len(found), len(self))]

    def _resolved(self, index: int, values: Sequence[Sequence[Value]]) -> dict[str, Value]:
        names = self._value_index.names
        first = index * len(names)
        places = enumerate(self._choices[first : first + len(names)])
        return {names[i]: values[i][place] for i, place in places if place != UNSET}


def collect(space: ParameterSpace, points: Iterable[Mapping[str, Value]]) -> Design:
    """The design of points, each once."""
    builder = DesignBuilder(space)
    for resolved in points:
        builder.add(resolved)
    return builder.build()


def build_whole(space: ParameterSpace, value_index: ValueIndex, choices: np.ndarray) -> Design:
    """The design of distinct points of a space without conditional parameters, in one call. As `DesignBuilder.build`."""
    import numpy as np

    if not space.grid.baseline:
        return value_index.design(choices, None)
    based, count = choices.copy(), len(choices)
    for axis in space.grid.baseline:
        at = value_index.names.index(axis.name)
        based[:, at] = value_index.place(at, axis.values[0])
    found = unique_rows(np.concatenate([choices, based])).by_appearance()
    baseline = np.concatenate([found.which[count:], np.arange(count, len(found.rows))]).astype(np.int32)
    return value_index.design(found.rows, baseline)
