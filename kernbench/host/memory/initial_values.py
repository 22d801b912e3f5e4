"""Initial values of a tensor, computed on the first read.

A timing run never reads the numbers, so nothing is drawn or copied until a check or a live kernel reads them. Random
numbers depend on the seed of the bench and on the number of tensors made before, and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from kernbench.dtypes import is_float, itemsize, numpy_dtype


@dataclass(frozen=True, slots=True)
class Contents(ABC):
    """Initial values of one tensor."""

    shape: tuple[int, ...]
    dtype: str

    @abstractmethod
    def make(self) -> np.ndarray:
        """Compute the array; each call returns equal numbers."""

    @property
    def making_bytes(self) -> int:
        """The memory that `make` takes while it runs: the array, and what it is computed from."""
        return prod(self.shape) * itemsize(self.dtype)


@dataclass(frozen=True, slots=True)
class Filled(Contents):
    """One value for all elements."""

    value: float

    def make(self) -> np.ndarray:
        """The array."""
        dtype = numpy_dtype(self.dtype)
        return np.full(self.shape, np.asarray(self.value).astype(dtype)) if self.value else np.zeros(self.shape, dtype)


@dataclass(frozen=True, slots=True)
class Random(Contents):
    """Normal numbers of mean 0 and variance 1; of an integer dtype, integers of which each is equally likely."""

    seed: tuple[int, ...]

    @property
    def making_bytes(self) -> int:
        """Of floating-point numbers also those of f32 that are drawn."""
        drawn = itemsize("f32") if is_float(self.dtype) else 0
        return prod(self.shape) * (drawn + itemsize(self.dtype))

    def make(self) -> np.ndarray:
        """The array."""
        rng, dtype = np.random.default_rng(self.seed), numpy_dtype(self.dtype)
        if is_float(self.dtype):
            return rng.standard_normal(self.shape, np.float32).astype(dtype)
        ends = np.iinfo(dtype)
        return rng.integers(ends.min, ends.max, self.shape, dtype, endpoint=True)


@dataclass(frozen=True, slots=True)
class Given(Contents):
    """A copy of an array of the host."""

    array: np.ndarray

    @property
    def making_bytes(self) -> int:
        """Nothing: it is there."""
        return 0

    def make(self) -> np.ndarray:
        """The array."""
        return self.array


@dataclass(frozen=True, slots=True)
class Computed(Contents):
    """What a function makes, such as a part of a larger array that many tensors share."""

    compute: Callable[[], np.ndarray]

    def make(self) -> np.ndarray:
        """The array, in the element type of the tensor."""
        return self.compute().reshape(self.shape).astype(numpy_dtype(self.dtype))
