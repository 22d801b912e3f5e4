"""From a grid to all its points, in an order that never changes.

The axes are nested as they stand in the file: the first varies slowest, the last fastest, and those that are zipped
together count as one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

from kernbench.errors import InputError
from kernbench.sweep.axis import Value
from kernbench.sweep.design import Design, collect
from kernbench.sweep.grid import Axis
from kernbench.sweep.space import Space

MOST_CHOICES = 10_000_000  # of a whole grid, before conditions


def expand(space: Space) -> Design:
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
    return collect(space, _points(space))


def _points(space: Space) -> Iterator[dict[str, Value]]:
    for choice in product(*map(_steps, space.grid.groups)):
        settled = space.settle({name: value for step in choice for name, value in step})
        if space.stays(settled):
            yield settled


def _steps(group: tuple[Axis, ...]) -> list[tuple[tuple[str, Value], ...]]:
    names = [axis.name for axis in group]
    return [tuple(zip(names, values, strict=True)) for values in zip(*(axis.values for axis in group), strict=True)]
