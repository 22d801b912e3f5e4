"""Values that are computed when they are first needed, if ever.

A tensor of gigabytes that a run never reads costs neither time nor memory of the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

T = TypeVar("T")


class Deferred(Generic[T]):
    """A value that `compute` returns; it is called once."""

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute: Callable[[], T] | None = compute

    @property
    def is_made(self) -> bool:
        """Whether the value has been computed."""
        return self._compute is None

    def make(self) -> T:
        """The value. Errors: those of `compute`; the next time it is called again."""
        if self._compute is not None:
            self._value = self._compute()
            self._compute = None
        return self._value


class DeferredBlock:
    """The bytes from `first` to `end` of one of several arrays uint8[bytes] that are computed together.

    They are read-only if `kept`: somebody wants them as they were before the next write.
    """

    __slots__ = ("_arrays", "_end", "_first", "_kept", "_which")

    def __init__(
        self, arrays: Deferred[Sequence[np.ndarray]], which: int, first: int, end: int, kept: bool = False
    ) -> None:
        self._arrays, self._which, self._first, self._end, self._kept = arrays, which, first, end, kept

    def __len__(self) -> int:
        return self._end - self._first

    def __getitem__(self, part: slice) -> DeferredBlock:
        first, end, _ = part.indices(len(self))
        return DeferredBlock(self._arrays, self._which, self._first + first, self._first + end, self._kept)

    @property
    def is_made(self) -> bool:
        """Whether its arrays have been computed."""
        return self._arrays.is_made

    def keep(self) -> DeferredBlock:
        """The same bytes, read-only."""
        return DeferredBlock(self._arrays, self._which, self._first, self._end, kept=True)

    def make(self) -> np.ndarray:
        """uint8[bytes], a view."""
        found = self._arrays.make()[self._which][self._first : self._end]
        if self._kept:
            found.flags.writeable = False
        return found
