"""From a grid to its points' assignments, in an order that never changes.

The axes are nested as they stand in the file: the first varies slowest, the last fastest, and those that are zipped
together count as one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from kernbench.errors import InputError, suggest
from kernbench.sweep.axis import Value
from kernbench.sweep.grid import Axis, Grid


def expand(grid: Grid, defaults: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    """What each point assigns to the grid's parameters, by name.

    `defaults` are the bench's parameters; conditions may read those that the grid does not set. Errors: InputError for
    a condition that names something else or cannot be evaluated.
    """
    _check_names(grid, {*defaults, *(axis.name for axis in grid.axes)})
    for choice in product(*map(_steps, grid.groups)):
        assigned = {name: value for step in choice for name, value in step}
        if _stays(grid, {**defaults, **assigned}):
            yield assigned


def _steps(group: tuple[Axis, ...]) -> list[tuple[tuple[str, Value], ...]]:
    names = [axis.name for axis in group]
    return [tuple(zip(names, values, strict=True)) for values in zip(*(axis.values for axis in group), strict=True)]


def _stays(grid: Grid, names: Mapping[str, Value]) -> bool:
    for rule in grid.rules:
        try:
            if rule.condition.holds(names) is not rule.keeps:
                return False
        except ValueError as error:
            raise InputError(f"{rule.mark}: {error}") from None
    return True


def _check_names(grid: Grid, known: set[str]) -> None:
    for rule in grid.rules:
        for name in sorted(rule.condition.names - known):
            raise InputError(f"{rule.mark}: {name!r} is not a parameter here{suggest(name, known)}")
