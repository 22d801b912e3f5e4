"""What a tensor is made with: a recipe, followed only when somebody looks.

A timing run of a large model never needs the numbers, so nothing is drawn or copied before a check or a live kernel asks.
Random numbers depend on the bench's seed and on how many tensors were made before, and on nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from kernbench.dtypes import is_float, numpy_dtype
from kernbench.errors import InputError


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
    """Normal numbers of mean 0 and variance 1. Errors: InputError for an integer dtype."""

    seed: tuple[int, ...]

    def __post_init__(self) -> None:
        if not is_float(self.dtype):
            raise InputError(
                f"randn makes floating-point numbers, got dtype {self.dtype!r}; use from_numpy for integers"
            )

    def make(self) -> np.ndarray:
        """The array."""
        drawn = np.random.default_rng(self.seed).standard_normal(self.shape, np.float32)
        return drawn.astype(numpy_dtype(self.dtype))


@dataclass(frozen=True, slots=True)
class Given(Contents):
    """A host array, as it was when it was given."""

    array: np.ndarray

    def make(self) -> np.ndarray:
        """The array."""
        return self.array
