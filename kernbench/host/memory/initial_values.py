"""Initial values of a tensor: a recipe, followed on the first read.

A timing run of a large model never needs the numbers, so nothing is drawn or copied before a check or a live kernel asks.
Random numbers depend on the bench's seed and on how many tensors were made before, and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kernbench.dtypes import is_float, numpy_dtype


@dataclass(frozen=True, slots=True)
class Contents(ABC):
    """The recipe of an array."""

    shape: tuple[int, ...]
    dtype: str

    @abstractmethod
    def make(self) -> np.ndarray:
        """The array; equal each time."""


@dataclass(frozen=True, slots=True)
class Filled(Contents):
    """One value everywhere."""

    value: float

    def make(self) -> np.ndarray:
        """The array."""
        dtype = numpy_dtype(self.dtype)
        return np.full(self.shape, np.asarray(self.value).astype(dtype)) if self.value else np.zeros(self.shape, dtype)


@dataclass(frozen=True, slots=True)
class Random(Contents):
    """Normal numbers of mean 0 and variance 1, or integers, each of the dtype as likely."""

    seed: tuple[int, ...]

    def make(self) -> np.ndarray:
        """The array."""
        rng, dtype = np.random.default_rng(self.seed), numpy_dtype(self.dtype)
        if is_float(self.dtype):
            return rng.standard_normal(self.shape, np.float32).astype(dtype)
        ends = np.iinfo(dtype)
        return rng.integers(ends.min, ends.max, self.shape, dtype, endpoint=True)


@dataclass(frozen=True, slots=True)
class Given(Contents):
    """A host array, as it was when it was given."""

    array: np.ndarray

    def make(self) -> np.ndarray:
        """The array."""
        return self.array
