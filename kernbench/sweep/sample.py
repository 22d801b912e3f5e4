"""Points drawn from a grid's space: at random, by a Sobol' sequence, or as Latin hypercubes.

A draw is a point of the unit cube with a dimension for each group of axes; each axis makes a value of its coordinate. What
the conditions forbid, or is there already, is drawn again, so a sweep has as many points as it asked for if the space has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from kernbench.errors import InputError
from kernbench.sweep.axis import Value
from kernbench.sweep.design import Design, DesignBuilder
from kernbench.sweep.grid import Axis
from kernbench.sweep.space import Space

if TYPE_CHECKING:
    import numpy as np

MOST_DRAWS = 64  # for each sample asked for

Draw = Callable[[int], "np.ndarray"]  # how many → float64[draw, dimension], in 0 … 1


def sample(space: Space) -> Design:
    """As many points as the grid asks for; fewer where no more are found. Same seed, same points.

    Errors: InputError for a condition that cannot be evaluated.
    """
    grid = space.grid
    builder = DesignBuilder(space)
    if not grid.groups:
        builder.add({})
        return builder.build()
    for units in _draws(space):
        settled = space.settle(dict(_values(space, units)))
        if space.stays(settled):
            builder.add(settled)
        if len(builder) == grid.samples:
            break
    return builder.build()


def value_at(axis: Axis, unit: float) -> Value:
    """The value of an axis at a coordinate from 0 to 1."""
    if axis.span is not None:
        return axis.span.at(unit)
    return axis.values[min(int(unit * len(axis.values)), len(axis.values) - 1)]


def _values(space: Space, units: list[float]) -> Iterator[tuple[str, Value]]:
    for unit, group in zip(units, space.grid.groups, strict=True):
        for axis in group:
            yield axis.name, value_at(axis, unit)


def _draws(space: Space) -> Iterator[list[float]]:
    grid = space.grid
    drawn = 0
    draw = DRAWS[grid.method](len(grid.groups), grid.seed)
    while drawn < MOST_DRAWS * grid.samples:
        units = draw(grid.samples)
        yield from units.tolist()
        drawn += len(units)


def _random(dimensions: int, seed: int) -> Draw:
    import numpy as np

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
