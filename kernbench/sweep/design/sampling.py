"""Points drawn from a grid's space: at random, by a Sobol' sequence, or as Latin hypercubes.

A draw is a point of the unit cube with a dimension for each group of axes; each axis makes a value of its coordinate. What
the conditions forbid, or is there already, is drawn again, so a sweep has as many points as it asked for if the space has.
Drawing ends where hardly any draw is a new point: one in `MOST_DRAWS`.
"""

# pyright: reportMissingTypeStubs=false
# scipy comes without stubs
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from kernbench.arrays import unique_rows
from kernbench.errors import InputError
from kernbench.sweep.design.design import Design, DesignBuilder, ValueIndex, build_whole
from kernbench.sweep.design.parameter_space import ParameterSpace
from kernbench.sweep.grid.axis import Value
from kernbench.sweep.grid.grid import Axis
from kernbench.text import plural

MOST_DRAWS = 64  # for each point found and FIRST_FOUND more, or for each sample asked for if that is less
FIRST_FOUND = 1 << 10
LEAST_BLOCK, MOST_BLOCK = 1 << 10, 1 << 16  # draws that are looked at together

Draw = Callable[[int], np.ndarray]  # how many → float64[draw, dimension], in 0 … 1


def sample(space: ParameterSpace) -> Design:
    """As many points as the grid asks for; fewer where no more are found. Same seed, same points.

    Errors: InputError for a condition that cannot be evaluated, and where no point that was drawn meets the conditions.
    """
    draws = _Draws(space)
    design = (_sample_each if space.is_conditional else _sample_blocks)(space, draws)
    if space.grid.groups and not draws.met:
        raise InputError(
            f"{space.grid.rules[0].mark}: none of {plural(draws.drawn, 'drawn point')} meets the conditions; let them keep "
            "more, or narrow the values from which is drawn"
        )
    return replace(design, drawn=draws.drawn, met=draws.met)


def _sample_blocks(space: ParameterSpace, draws: _Draws) -> Design:
    """Points drawn in blocks, where all have the same parameters."""
    grid = space.grid
    value_index = ValueIndex(space)
    choices = np.empty((0 if grid.groups else 1, len(value_index.names)), np.int32)
    while (units := draws.next_block(len(choices))) is not None:
        columns = _values(space, units)
        allowed = space.find_allowed({axis.name: columns[axis.name] for axis in space.read_axes}, len(units))
        draws.met += int(allowed.sum())
        block = np.array([value_index.places(i, columns[name]) for i, name in enumerate(value_index.names)])
        choices = np.concatenate([choices, block.T[allowed]])
        choices = unique_rows(choices).by_appearance().rows[: grid.samples]
    return build_whole(space, value_index, choices)


def _sample_each(space: ParameterSpace, draws: _Draws) -> Design:
    """The same point by point, since which parameters one has depends on its others."""
    builder = DesignBuilder(space)
    while (units := draws.next_block(len(builder))) is not None:
        columns = _values(space, units)
        for values in zip(*columns.values(), strict=True):
            resolved = space.resolve(dict(zip(columns, values, strict=True)))
            if space.is_allowed(resolved):
                draws.met += 1
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


class _Draws:
    """The draws of a sample, as far as they have been looked at. `met`: how many the conditions allow, as the caller counts."""

    def __init__(self, space: ParameterSpace) -> None:
        self.drawn, self.met = 0, 0
        self._grid = space.grid
        self._draw = DRAWS[self._grid.method](len(self._grid.groups), self._grid.seed)
        self._units = np.empty((0, 0))  # float64[draw, group] that are not looked at yet

    def next_block(self, found: int) -> np.ndarray | None:
        """float64[draw, group], some more draws, when so many points have been found; None if no more shall be drawn."""
        samples = self._grid.samples
        left = MOST_DRAWS * min(samples, found + FIRST_FOUND) - self.drawn
        if not self._grid.groups or found >= samples or left <= 0:
            return None
        if not len(self._units):
            self._units = self._draw(samples)
        count = min(max(samples - found, LEAST_BLOCK), MOST_BLOCK, left)
        block, self._units = self._units[:count], self._units[count:]
        self.drawn += len(block)
        return block


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
