"""Views: elements of a value in memory, at strides.

Reshapes, transposes, slices, splits and broadcasts are other views of the same elements, so they cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np


class View(NamedTuple):
    """Elements of the value `base`: a shape, elements from one to the next along each axis, and the first element."""

    base: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    first: int = 0

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return prod(self.shape)

    def transpose(self, axes: Sequence[int]) -> View:
        """The axes in another order."""
        return self._replace(
            shape=tuple(self.shape[axis] for axis in axes), strides=tuple(self.strides[axis] for axis in axes)
        )

    def slice(self, axis: int, start: int, count: int, step: int = 1) -> View:
        """`count` elements of an axis from `start` on, every `step`th; a step may be negative."""
        shape, strides = list(self.shape), list(self.strides)
        first = self.first + start * strides[axis]
        shape[axis], strides[axis] = count, strides[axis] * step
        return self._replace(shape=tuple(shape), strides=tuple(strides), first=first)

    def broadcast(self, shape: Sequence[int]) -> View:
        """The same elements again along axes that have one, as numpy does. Errors: ValueError if that cannot be."""
        missing = len(shape) - len(self.shape)
        own, strides = (1,) * missing + self.shape, (0,) * missing + self.strides
        if missing < 0 or any(mine not in (1, size) for mine, size in zip(own, shape, strict=True)):
            raise ValueError(f"{list(self.shape)} cannot be broadcast to {list(shape)}")
        strides = tuple(0 if mine == 1 else stride for mine, stride in zip(own, strides, strict=True))
        return self._replace(shape=tuple(shape), strides=strides)

    def reshape(self, shape: Sequence[int]) -> View | None:
        """Another shape over the same elements; None if their strides do not allow it."""
        shape = tuple(shape)
        if prod(shape) != self.elements:
            return None
        strides: list[int] = []
        runs = list(merge_axes([self], self.shape))
        axis = len(runs) - 1
        left, stride = (runs[axis][0], runs[axis][1][0]) if runs else (1, 1)
        for size in reversed(shape):
            if size == 1:
                strides.append(0)
                continue
            while left == 1 and axis > 0:
                axis -= 1
                left, stride = runs[axis][0], runs[axis][1][0]
            if left % size:
                return None
            strides.append(stride)
            left, stride = left // size, stride * size
        return self._replace(shape=shape, strides=tuple(reversed(strides)))

    def of(self, memory: np.ndarray) -> np.ndarray:
        """The elements in an array of the whole value."""
        flat = memory.reshape(-1)[self.first :]
        return np.lib.stride_tricks.as_strided(flat, self.shape, [one * flat.itemsize for one in self.strides])


def whole(base: str, shape: Sequence[int], order: Sequence[int] | None = None) -> View:
    """All elements of a value whose axes lie in an order in memory, the slowest first; without one, row by row."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order if order is not None else range(len(shape))):
        strides[axis] = step
        step *= shape[axis]
    return View(base, tuple(shape), tuple(strides))


def merge_axes(views: Sequence[View], shape: Sequence[int]) -> list[tuple[int, tuple[int, ...]]]:
    """(size, strides of each view) of as few axes as do for all views of a shape; axes of one element are left out."""
    runs: list[tuple[int, tuple[int, ...]]] = []
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        strides = tuple(view.strides[axis] for view in views)
        if runs and all(before == size * stride for before, stride in zip(runs[-1][1], strides, strict=True)):
            runs[-1] = (runs[-1][0] * size, strides)
        else:
            runs.append((size, strides))
    return runs
