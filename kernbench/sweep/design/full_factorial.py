"""From a grid to all its points, in an order that never changes.

The axes are nested as they stand in the file: the first varies slowest, the last fastest, and those that are zipped
together count as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.errors import InputError
from kernbench.sweep.design.design import Design, ValueIndex, build_whole, collect
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Axis

BLOCK = 1 << 16  # points that are looked at together
MOST_CHOICES = 10_000_000  # of a whole grid, before conditions


def expand(space: ParameterSpace) -> Design:
    """All points of a grid that its conditions leave.

    Errors: InputError for a grid that is too large, and for a condition that cannot be evaluated.
    """
    groups = space.grid.groups
    count = math.prod(len(group[0].values) for group in groups)
    if count > MOST_CHOICES:
        raise InputError(
            f"{space.grid.marks['method']}: the axes have {count:,} points, more than {MOST_CHOICES:,}; "
            "draw some with method: sobol and samples"
        )
    return collect(space, _points(space)) if space.is_conditional else _expand_whole(space, count)


def _expand_whole(space: ParameterSpace, count: int) -> Design:
    """All points, as choices from the first."""
    value_index, groups = ValueIndex(space), space.grid.groups
    places = {axis.name: value_index.places(i, axis.values) for i, axis in enumerate(space.grid.axes)}
    blocks = [np.empty((0, len(places)), np.int32)]
    for first in range(0, count, BLOCK):
        which = np.arange(first, min(first + BLOCK, count))
        steps = np.unravel_index(which, [len(group[0].values) for group in groups]) if groups else ()
        at = {axis.name: step for group, step in zip(groups, steps, strict=True) for axis in group}
        columns = {axis.name: [axis.values[int(i)] for i in at[axis.name]] for axis in space.read_axes}
        allowed = space.find_allowed(columns, len(which))
        block = [places[name][step[allowed]] for name, step in at.items()]
        blocks.append(np.array(block, np.int32).reshape(len(at), int(allowed.sum())).T)
    choices = np.concatenate(blocks)
    if any(_has_doubles(group, places) for group in groups):
        choices = unique_rows(choices).by_appearance().rows
    return build_whole(space, value_index, choices)


def _has_doubles(group: tuple[Axis, ...], places: dict[str, np.ndarray]) -> bool:
    steps = list(zip(*(places[axis.name].tolist() for axis in group), strict=True))
    return len(set(steps)) < len(steps)


def _points(space: ParameterSpace) -> Iterator[dict[str, Value]]:
    for choice in product(*map(_steps, space.grid.groups)):
        resolved = space.resolve({name: value for step in choice for name, value in step})
        if space.is_allowed(resolved):
            yield resolved


def _steps(group: tuple[Axis, ...]) -> list[tuple[tuple[str, Value], ...]]:
    names = [axis.name for axis in group]
    return [tuple(zip(names, values, strict=True)) for values in zip(*(axis.values for axis in group), strict=True)]
