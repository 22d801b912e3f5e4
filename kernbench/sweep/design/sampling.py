"""Points drawn from a grid's space: at random, by a Sobol' sequence, or as Latin hypercubes.

A draw is a point of the unit cube with a dimension for each group of axes; each axis makes a value of its coordinate. What
the conditions forbid, or is there already, is drawn again, so a sweep has as many points as it asked for if the space has.
"""

# pyright: reportMissingTypeStubs=false
# scipy comes without stubs
from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.errors import InputError
from kernbench.sweep.design.design import Design, DesignBuilder, ValueIndex, build_whole
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Axis

MOST_DRAWS = 64  # for each sample asked for
LEAST_BLOCK = 1 << 10  # draws that are looked at together

Draw = Callable[[int], np.ndarray]  # how many → float64[draw, dimension], in 0 … 1


def sample(space: ParameterSpace) -> Design:
    """As many points as the grid asks for; fewer where no more are found. Same seed, same points.

    Errors: InputError for a condition that cannot be evaluated.
    """
    grid = space.grid
    if space.is_conditional:
        return _sample_each(space)
    value_index = ValueIndex(space)
    choices = np.empty((0 if grid.groups else 1, len(value_index.names)), np.int32)
    for drawn in _draws(space):
        first = 0
        while first < len(drawn) and len(choices) < grid.samples:
            units = drawn[first : first + max(grid.samples - len(choices), LEAST_BLOCK)]
            first += len(units)
            columns = _values(space, units)
            allowed = space.find_allowed({axis.name: columns[axis.name] for axis in space.read_axes}, len(units))
            block = np.array([value_index.places(i, columns[name]) for i, name in enumerate(value_index.names)])
            choices = np.concatenate([choices, block.T[allowed]])
            choices = unique_rows(choices).by_appearance().rows[: grid.samples]
        if len(choices) == grid.samples:
            break
    return build_whole(space, value_index, choices)


def _sample_each(space: ParameterSpace) -> Design:
    """The same point by point, since which parameters one has depends on its others."""
    builder = DesignBuilder(space)
    for units in _draws(space):
        columns = _values(space, units)
        for values in zip(*columns.values(), strict=True):
            resolved = space.resolve(dict(zip(columns, values, strict=True)))
            if space.is_allowed(resolved):
                builder.add(resolved)
            if len(builder) == space.grid.samples:
                return builder.build()
    return builder.build()


def values_at(axis: Axis, units: np.ndarray) -> list[Value]:
    """The values of an axis at coordinates from 0 to 1."""
    if axis.span is not None:
        return list(axis.span.at(units.tolist()))
    last = len(axis.values) - 1
    return [axis.values[place] for place in np.minimum((units * len(axis.values)).astype(int), last).tolist()]


def _values(space: ParameterSpace, units: np.ndarray) -> dict[str, list[Value]]:
    """By axis, its values at float64[draw, group], in the order of the groups."""
    of_groups = zip(units.T, space.grid.groups, strict=True)
    return {axis.name: values_at(axis, column) for column, group in of_groups for axis in group}


def _draws(space: ParameterSpace) -> Iterator[np.ndarray]:
    """float64[draw, group], until enough have been drawn."""
    grid = space.grid
    drawn = 0
    draw = DRAWS[grid.method](len(grid.groups), grid.seed)
    while grid.groups and drawn < MOST_DRAWS * grid.samples:
        units = draw(grid.samples)
        yield units
        drawn += len(units)


def _random(dimensions: int, seed: int) -> Draw:
    generator = np.random.default_rng(seed)
    return lambda count: generator.random((count, dimensions))


def _sobol(dimensions: int, seed: int) -> Draw:
    """Scrambled; in powers of two, for a part of such a row is less even than the whole."""
    from scipy.stats import qmc

    if dimensions > qmc.Sobol.MAXDIM:
        raise InputError(f"method sobol has {qmc.Sobol.MAXDIM} dimensions at most, not {dimensions}; use latin")
    sampler = qmc.Sobol(dimensions, scramble=True, rng=seed)
    drawn = 0

    def draw(count: int) -> np.ndarray:
        nonlocal drawn
        needed = drawn or 1 << (count - 1).bit_length()
        drawn += needed
        return sampler.random(needed)

    return draw


def _latin(dimensions: int, seed: int) -> Draw:
    from scipy.stats import qmc

    sampler = qmc.LatinHypercube(dimensions, rng=seed)
    return sampler.random


DRAWS: dict[str, Callable[[int, int], Draw]] = {"random": _random, "sobol": _sobol, "latin": _latin}
